// http/connection_pool.h: HTTP requests over kept connections. The only place of the SDK that knows
// libcurl.
#pragma once
#include <chrono>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orchid::sdk {

/// Where requests go: over `socket` when it is set, else to `base_url`.
struct Endpoint {
  std::string base_url;  // "http://127.0.0.1:8080", without a slash at the end
  std::string socket;    // path of a Unix socket
  std::string token;     // empty: none is sent
  std::chrono::milliseconds connect_timeout{5000};
  [[nodiscard]] std::string describe() const {
    return socket.empty() ? base_url : "unix:" + socket;
  }
};

struct HttpRequest {
  std::string method = "GET";
  std::string target;                // path and query
  std::vector<std::string> headers;  // "Name: value"
  std::span<const std::byte> body;
  std::chrono::milliseconds timeout{60'000};  // for the whole exchange
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::vector<std::byte> body;
  /// Empty when there is no such header. `name` in lower case.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(body.data()), body.size()};
  }
};

/// Any thread. One connection carries one request at a time; idle ones are kept for the next
/// request.
class ConnectionPool {
 public:
  /// Throws `orchid::Error` when the socket's directory cannot be opened.
  explicit ConnectionPool(Endpoint endpoint);
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  /// Any complete answer, whatever its status. Throws `orchid::Error`: `unreachable`, `timed_out`.
  [[nodiscard]] HttpResponse perform(const HttpRequest& request);
  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

 private:
  using Handle = void;  // CURL
  [[nodiscard]] Handle* take();
  void give_back(Handle* handle);

  Endpoint endpoint_;
  std::string socket_path_;    // fits sockaddr_un; may go through `socket_directory_`
  int socket_directory_ = -1;  // open while the path needs it
  std::mutex mutex_;
  std::vector<Handle*> idle_;  // guarded by mutex_; the most recently used is last
};

}  // namespace orchid::sdk
