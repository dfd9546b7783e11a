#include "redis_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "foundation/files.h"
#include "start_up.h"

namespace orchid::bench {
namespace {

constexpr const char* program = "/usr/bin/redis-server";
constexpr std::string_view end_of_line = "\r\n";
constexpr time_t patience_s = 30;

std::string length_of(std::size_t size) { return "$" + std::to_string(size) + "\r\n"; }

/// A command of two words or three, up to the last one's bytes.
std::string head_of_set(const RedisConnection::Set& set) {
  return "*3\r\n$3\r\nSET\r\n" + length_of(set.key.size()) + set.key + "\r\n" +
         length_of(set.value.size());
}
std::string get_command(const std::string& key) {
  return "*2\r\n$3\r\nGET\r\n" + length_of(key.size()) + key + "\r\n";
}

iovec part_of(std::string_view text) {
  return {.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
}

Failure unexpected(std::string_view line) {
  return {ErrorCode::internal, "Redis has answered: " + std::string(line)};
}

}  // namespace

bool RedisServer::is_installed() { return ::access(program, X_OK) == 0; }

Result<RedisServer> RedisServer::start(const Options& options) {
  std::string pattern = "/tmp/orchid-redis-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return fail_errno("mkdtemp");
  const std::filesystem::path directory = pattern;
  std::vector<std::string> command = options.entry;
  command.insert(command.end(), {program, "--bind", options.address, "--port", std::to_string(port),
                                 "--protected-mode", "no", "--save", "", "--appendonly", "no",
                                 "--daemonize", "no", "--dir", directory.string()});
  auto process = ChildProcess::start({.command = std::move(command),
                                      .output_file = directory / "redis.log",
                                      .core = options.core});
  if (!process) {
    std::filesystem::remove_all(directory);
    return fail(std::move(process.error()));
  }
  RedisServer server(directory, std::move(*process));
  auto ready = wait_until("Redis takes connections",
                          [&] { return RedisConnection::open(options.address, port).has_value(); });
  if (!ready) return fail(std::move(ready.error()));
  return server;
}

RedisServer::~RedisServer() {
  if (directory_.empty()) return;
  process_.stop();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

Result<RedisConnection> RedisConnection::open(const std::string& address, int port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket");
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, address.c_str(), &peer.sin_addr) != 1)
    return fail(ErrorCode::unreachable, "not an address: " + address);
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const timeval patience{.tv_sec = patience_s, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)) != 0)
    return fail(ErrorCode::unreachable, "no Redis at " + address);
  return RedisConnection(std::move(socket));
}

Result<void> RedisConnection::set(std::span<const Set> values) {
  std::vector<std::string> heads;
  heads.reserve(values.size());
  std::vector<iovec> parts;
  for (const Set& set : values) {
    heads.push_back(head_of_set(set));
    for (const std::string_view part :
         {std::string_view(heads.back()), as_text(set.value), end_of_line})
      parts.push_back(part_of(part));
  }
  if (auto sent = send(parts); !sent) return sent;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto answer = line();
    if (!answer) return fail(answer.error());
    if (*answer != "+OK") return fail(unexpected(*answer));
  }
  return {};
}

Result<void> RedisConnection::get(std::span<const Get> values) {
  std::string commands;
  for (const Get& get : values) commands += get_command(get.key);
  std::array parts{part_of(commands)};
  if (auto sent = send(parts); !sent) return sent;
  for (const Get& get : values) {
    const auto head = line();
    if (!head) return fail(head.error());
    if (std::string(*head).append(end_of_line) != length_of(get.value.size()))
      return fail(unexpected(*head));
    if (auto read = read_into(get.value); !read) return read;
    if (const auto tail = line(); !tail || !tail->empty())
      return fail(tail ? unexpected(*tail) : tail.error());
  }
  return {};
}

Result<void> RedisConnection::send(std::span<iovec> parts) {
  while (!parts.empty()) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = std::min<std::size_t>(parts.size(), IOV_MAX);
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent <= 0) return fail(ErrorCode::unreachable, "Redis takes no more");
    auto done = static_cast<std::size_t>(sent);
    for (; !parts.empty() && done >= parts.front().iov_len; parts = parts.subspan(1))
      done -= parts.front().iov_len;
    if (parts.empty()) break;
    parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + done;
    parts.front().iov_len -= done;
  }
  return {};
}

Result<void> RedisConnection::fill() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == read_.size()) {
    std::copy(read_.begin() + static_cast<std::ptrdiff_t>(begin_), read_.end(), read_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  const ssize_t got = ::recv(socket_.get(), read_.data() + end_, read_.size() - end_, 0);
  if (got <= 0) return fail(ErrorCode::unreachable, "Redis does not answer");
  end_ += static_cast<std::size_t>(got);
  return {};
}

/// Without its end; good until the next one is read.
Result<std::string_view> RedisConnection::line() {
  for (;;) {
    const std::string_view there(read_.data() + begin_, end_ - begin_);
    if (const std::size_t at = there.find(end_of_line); at != std::string_view::npos) {
      begin_ += at + end_of_line.size();
      return there.substr(0, at);
    }
    if (auto filled = fill(); !filled) return fail(std::move(filled.error()));
  }
}

/// What was read ahead is copied; the rest comes to its place.
Result<void> RedisConnection::read_into(std::span<std::byte> target) {
  const std::size_t here = std::min(target.size(), end_ - begin_);
  std::memcpy(target.data(), read_.data() + begin_, here);
  begin_ += here;
  for (target = target.subspan(here); !target.empty();) {
    const ssize_t got = ::recv(socket_.get(), target.data(), target.size(), MSG_WAITALL);
    if (got <= 0) return fail(ErrorCode::unreachable, "Redis does not answer");
    target = target.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

}  // namespace orchid::bench
