// http_client.h: HTTP as bytes, so that tests can also send what no client library would.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/unique_fd.h"

namespace orchid::test {

struct Answer {
  unsigned status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// One connection. Every wait ends after 30 s with a failed test.
class HttpConnection {
 public:
  /// "http://127.0.0.1:1234" or "http://[::1]:1234".
  static HttpConnection to_url(const std::string& url);
  static HttpConnection to_socket(const std::filesystem::path& path);

  void send(std::string_view bytes);
  /// The next answer; `no_body`: to a HEAD request.
  Answer receive(bool no_body = false);
  /// What comes after the head of an answer without a stated length, up to and with `end`.
  std::string receive_until(std::string_view end);
  /// The same, until the other side closes.
  std::string receive_rest();
  /// True: something has come, or the other side has closed.
  [[nodiscard]] bool readable(std::chrono::milliseconds within) const;
  /// True: the other side has closed; false after `within`.
  bool closed(std::chrono::milliseconds within);
  void close() { socket_.reset(); }
  void close_sending_side();

 private:
  explicit HttpConnection(UniqueFd socket) : socket_(std::move(socket)) {}
  bool read_more(std::chrono::milliseconds within);
  UniqueFd socket_;
  std::string in_;
};

struct Ask {
  std::string method = "GET";
  std::string path;
  std::string body;
  std::string headers;  // whole lines
  std::string token;
};
/// The bytes of a request, with Host and Content-Length.
[[nodiscard]] std::string request_text(const Ask& ask);

}  // namespace orchid::test
