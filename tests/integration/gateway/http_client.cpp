#include "http_client.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace orchid::test {
namespace {

constexpr std::chrono::milliseconds answer_within{30'000};

Answer parse_head(const std::string& head) {
  Answer answer;
  REQUIRE(head.starts_with("HTTP/1.1 "));
  answer.status = static_cast<unsigned>(std::stoul(head.substr(9, 3)));
  std::size_t at = head.find("\r\n") + 2;
  while (at < head.size()) {
    const std::size_t end = head.find("\r\n", at);
    const std::string line = head.substr(at, end - at);
    const std::size_t colon = line.find(": ");
    REQUIRE(colon != std::string::npos);
    std::string name = line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    answer.headers[name] = line.substr(colon + 2);
    at = end + 2;
  }
  return answer;
}

}  // namespace

HttpConnection HttpConnection::to_url(const std::string& url) {
  const std::size_t colon = url.rfind(':');
  std::string host = url.substr(7, colon - 7);
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  REQUIRE(::getaddrinfo(host.c_str(), url.substr(colon + 1).c_str(), &hints, &found) == 0);
  UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int connected = ::connect(socket.get(), found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  REQUIRE(connected == 0);
  return HttpConnection(std::move(socket));
}

HttpConnection HttpConnection::to_socket(const std::filesystem::path& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.native().size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return HttpConnection(std::move(socket));
}

void HttpConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    // The gateway may refuse and close before it has read everything.
    if (sent < 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool HttpConnection::readable(std::chrono::milliseconds within) const {
  pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return !in_.empty() || ::poll(&ready, 1, static_cast<int>(within.count())) == 1;
}

bool HttpConnection::read_more(std::chrono::milliseconds within) {
  pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  REQUIRE_MESSAGE(::poll(&ready, 1, static_cast<int>(within.count())) == 1, "no answer in time");
  std::array<char, 65536> part{};
  const ssize_t got = ::recv(socket_.get(), part.data(), part.size(), 0);
  if (got <= 0) return false;
  in_.append(part.data(), static_cast<std::size_t>(got));
  return true;
}

Answer HttpConnection::receive(bool no_body) {
  std::size_t end = std::string::npos;
  while ((end = in_.find("\r\n\r\n")) == std::string::npos)
    REQUIRE_MESSAGE(read_more(answer_within), "closed before an answer came");
  Answer answer = parse_head(in_.substr(0, end + 2));
  in_.erase(0, end + 4);
  if (no_body || !answer.headers.contains("content-length")) return answer;
  const std::size_t length = std::stoul(answer.headers["content-length"]);
  while (in_.size() < length)
    REQUIRE_MESSAGE(read_more(answer_within), "closed in the middle of a body");
  answer.body = in_.substr(0, length);
  in_.erase(0, length);
  return answer;
}

std::string HttpConnection::receive_until(std::string_view end) {
  std::size_t at = std::string::npos;
  while ((at = in_.find(end)) == std::string::npos)
    REQUIRE_MESSAGE(read_more(answer_within), "closed after: " << in_);
  std::string text = in_.substr(0, at + end.size());
  in_.erase(0, text.size());
  return text;
}

std::string HttpConnection::receive_rest() {
  while (read_more(answer_within)) {
  }
  return std::exchange(in_, {});
}

bool HttpConnection::closed(std::chrono::milliseconds within) {
  pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, static_cast<int>(within.count())) != 1) return false;
  char byte = 0;
  return ::recv(socket_.get(), &byte, 1, 0) <= 0;
}

void HttpConnection::close_sending_side() { ::shutdown(socket_.get(), SHUT_WR); }

std::string request_text(const Ask& ask) {
  std::string text = ask.method + " " + ask.path + " HTTP/1.1\r\nHost: test\r\n" + ask.headers;
  if (!ask.token.empty()) text += "Authorization: Bearer " + ask.token + "\r\n";
  if (!ask.body.empty() || ask.method == "POST" || ask.method == "PUT")
    text += "Content-Length: " + std::to_string(ask.body.size()) + "\r\n";
  return text + "\r\n" + ask.body;
}

}  // namespace orchid::test
