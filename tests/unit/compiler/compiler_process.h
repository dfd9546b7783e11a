// compiler_process.h: a real orchid-compiler, spoken to over its packet socket; no wait without a
// deadline.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foundation/unique_fd.h"
#include "processes/child_process.h"
#include "protocol/compiler_messages.h"

namespace orchid::test {

using Bytes = std::vector<std::byte>;

/// A file of the built bitcode, or of tests/data.
[[nodiscard]] Bytes read_data(const std::string& name);
[[nodiscard]] Bytes read_shared_data(const std::string& name);

struct Reply {
  CompilerMessage message;
  Bytes code;  // of a CompiledCode
};

class CompilerProcess {
 public:
  /// Starts it with `mode` ("--serve") and a socket.
  explicit CompilerProcess(const std::string& mode);
  CompilerProcess(const CompilerProcess&) = delete;
  CompilerProcess& operator=(const CompilerProcess&) = delete;

  /// Sends `module` as a sealed memory file.
  void send(const CompilerMessage& message, std::span<const std::byte> module);
  void send_raw(const std::string& text, const std::vector<int>& descriptors);
  /// Fails the test when nothing comes in time.
  [[nodiscard]] Reply receive();
  /// The same, with figures of the module that is being compiled.
  [[nodiscard]] Reply receive_any();
  [[nodiscard]] Reply ask(const CompilerMessage& message, std::span<const std::byte> module) {
    send(message, module);
    return receive();
  }
  void close_socket() { socket_.reset(); }
  /// Its exit status; nothing when a signal ended it. Fails the test when it does not end in time.
  [[nodiscard]] std::optional<int> wait_for_end();
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  /// Its children now; waits until there are `count`.
  [[nodiscard]] std::vector<pid_t> children(std::size_t count) const;

 private:
  std::optional<processes::ChildProcess> process_;
  UniqueFd socket_;
};

struct CommandResult {
  int exit_status = -1;
  std::string output;
};
/// Runs a shell command and takes its standard output.
[[nodiscard]] CommandResult run_command(const std::string& command);

}  // namespace orchid::test
