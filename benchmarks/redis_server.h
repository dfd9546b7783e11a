// benchmarks/redis_server.h: the rival of leased memory: Redis on another host, and a connection to
// it that does no more than it must.
#pragma once
#include <sys/uio.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "harness/child_process.h"

namespace orchid::bench {

/// Debian's redis-server, which keeps nothing on disk. Ends with its owner. Used by one thread.
class RedisServer {
 public:
  struct Options {
    std::string address;               // of the host where it listens
    std::vector<std::string> entry{};  // words before the command, that lead to that host
    int core = -1;                     // that it is bound to; -1: none
  };
  static constexpr int port = 6379;  // of a network namespace that nobody else is in
  /// Whether the package is installed.
  [[nodiscard]] static bool is_installed();
  /// It takes connections when this returns. Errors: `system`, `timed_out`.
  [[nodiscard]] static Result<RedisServer> start(const Options& options);
  RedisServer(RedisServer&& other) noexcept
      : directory_(std::exchange(other.directory_, {})), process_(std::move(other.process_)) {}
  RedisServer& operator=(RedisServer&&) = delete;
  ~RedisServer();

 private:
  RedisServer(std::filesystem::path directory, ChildProcess process)
      : directory_(std::move(directory)), process_(std::move(process)) {}
  std::filesystem::path directory_;
  ChildProcess process_;
};

/// Values go from and to where they lie: there is no copy that a client library would make. Owned
/// by one thread.
class RedisConnection {
 public:
  /// Errors: `unreachable`.
  [[nodiscard]] static Result<RedisConnection> open(const std::string& address, int port);

  struct Set {
    std::string key;
    std::span<const std::byte> value;
  };
  struct Get {
    std::string key;
    std::span<std::byte> value;  // of exactly its size
  };
  /// Sends all requests, one behind the other, and waits for all answers. Errors: `unreachable`,
  /// `internal` (what is answered is no success, or of another size).
  [[nodiscard]] Result<void> set(std::span<const Set> values);
  [[nodiscard]] Result<void> get(std::span<const Get> values);

 private:
  explicit RedisConnection(UniqueFd socket) : socket_(std::move(socket)), read_(read_size) {}
  static constexpr std::size_t read_size = 16 * 1024;  // as client libraries have it
  [[nodiscard]] Result<void> send(std::span<iovec> parts);
  [[nodiscard]] Result<std::string_view> line();
  [[nodiscard]] Result<void> read_into(std::span<std::byte> target);
  [[nodiscard]] Result<void> fill();

  UniqueFd socket_;
  std::vector<char> read_;
  std::size_t begin_ = 0;  // of what has come and was not looked at
  std::size_t end_ = 0;
};

}  // namespace orchid::bench
