// processes/server_process.h: a program that the gateway starts beside itself and ends with itself.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::gateway {

/// The number under which such a program finds the socket that it is given.
constexpr int server_socket_number = 3;

/// `from` of ours is `as` there.
struct PassedDescriptor {
  int from = -1;
  int as = -1;
};

/// Owned by one thread. Ended, with its whole process group, when it is destroyed, which waits for
/// a second at most.
class ServerProcess {
 public:
  /// Starts `program` in a process group of its own. Errors: `unreachable` (no such program),
  /// `system`.
  [[nodiscard]] static Result<ServerProcess> start(const std::filesystem::path& program,
                                                   const std::vector<std::string>& arguments,
                                                   std::span<const PassedDescriptor> descriptors);
  /// The same with one socket, as descriptor 3.
  [[nodiscard]] static Result<ServerProcess> start(const std::filesystem::path& program,
                                                   const std::vector<std::string>& arguments,
                                                   int socket);
  ServerProcess(ServerProcess&& other) noexcept;
  ServerProcess& operator=(ServerProcess&& other) noexcept;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable once it has ended.
  [[nodiscard]] int descriptor() const { return process_.get(); }
  /// Whether a signal has stopped it (SIGSTOP), and nobody has continued it.
  [[nodiscard]] bool is_stopped() const;
  /// From now on it is nobody's: this object's end is not its own.
  void leave();

 private:
  ServerProcess(pid_t pid, UniqueFd process) : pid_(pid), process_(std::move(process)) {}
  void end();
  pid_t pid_ = -1;
  UniqueFd process_;  // a pidfd
};

}  // namespace orchid::gateway
