// http/http_exchange.h: requests and answers, whatever carries them.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orchid::sdk {

/// Where requests go: over `socket` when it is set, through `door` when that is, else to
/// `base_url`.
struct Endpoint {
  std::string base_url;  // "http://127.0.0.1:8080", without a slash at the end
  std::string door;      // "host:port" of an orchid-door, when base_url is "ucx://host:port"
  std::string socket;    // path of a Unix socket
  std::string token;     // empty: none is sent
  std::chrono::milliseconds connect_timeout{5000};
  std::function<int()> connect{};  // see ClientOptions; empty: none of it
  [[nodiscard]] std::string describe() const {
    if (connect) return "the other end of a socket";
    return socket.empty() ? base_url : "unix:" + socket;
  }
};

struct HttpRequest {
  std::string method = "GET";
  std::string target;                // path and query
  std::vector<std::string> headers;  // "Name: value"
  std::span<const std::byte> body;
  std::chrono::milliseconds timeout{60'000};  // for the whole exchange; 0: as long as bytes move

  /// Instead of `body`: puts the next of `stream_size` bytes into the room that it is given, and
  /// says how many. What it throws ends the exchange, and is thrown on.
  std::function<std::size_t(std::span<std::byte> room)> read_stream{};
  std::uint64_t stream_size = 0;
  /// Takes the body of an answer below 300 piece by piece; then the answer has none. Likewise.
  std::function<void(std::span<const std::byte> bytes)> take_stream{};
};

/// What of an exchange this side sees; the rest of it was waiting for the answer.
struct ExchangeTimes {
  std::chrono::nanoseconds connect{0};
  std::chrono::nanoseconds send{0};
  std::chrono::nanoseconds receive{0};
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::vector<std::byte> body;
  ExchangeTimes times;
  /// Empty when there is no such header. `name` in lower case.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(body.data()), body.size()};
  }
};

/// Any thread.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;
  /// Any complete answer, whatever its status. Throws `orchid::Error`: `unreachable`, `timed_out`,
  /// `unsupported`.
  [[nodiscard]] virtual HttpResponse perform(const HttpRequest& request) = 0;
  [[nodiscard]] virtual const Endpoint& endpoint() const = 0;

 protected:
  HttpExchange() = default;
};

}  // namespace orchid::sdk
