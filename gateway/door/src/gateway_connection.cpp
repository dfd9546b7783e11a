#include "gateway_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/door_messages.h"

namespace orchid::door {
namespace {

constexpr std::size_t read_bytes = 8 * 1024;
constexpr std::chrono::milliseconds longest_poll{60'000};

bool try_again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

bool says_close(const HttpHead& head) {
  const std::string_view value = head.find("connection");
  return value.size() == 5 && (value[0] == 'c' || value[0] == 'C');
}

}  // namespace

bool GatewayConnection::is_usable() const {
  if (!socket_ || !clean_ || std::chrono::steady_clock::now() - used_ > longest_idle) return false;
  // What is readable now is its end, or nothing that was asked for.
  pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) == 0;
}

GatewayConnection::End GatewayConnection::refuse(std::string problem) {
  problem_ = std::move(problem);
  return End::unsuitable;
}

GatewayConnection::Step GatewayConnection::send_some(const Exchange& exchange) {
  const auto rest = exchange.request.subspan(sent_);
  if (rest.empty() || cannot_send_) return Step::done;
  const ssize_t n = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n >= 0) {
    sent_ += static_cast<std::size_t>(n);
  } else if (!try_again()) {
    cannot_send_ = true;  // its answer may be there nevertheless
  }
  return sent_ == exchange.request.size() || cannot_send_ ? Step::done : Step::more;
}

GatewayConnection::Step GatewayConnection::read_some() {
  const std::size_t before = head_.size();
  head_.resize(before + read_bytes);
  const ssize_t n = ::recv(socket_.get(), head_.data() + before, read_bytes, MSG_DONTWAIT);
  const bool waits = n < 0 && try_again();
  head_.resize(before + (n > 0 ? static_cast<std::size_t>(n) : 0));
  if (n > 0) return Step::more;
  return waits ? Step::done : Step::ended;
}

/// `answered`: look again.
GatewayConnection::End GatewayConnection::wait(const Exchange& exchange, short events) const {
  const auto left = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(
                                   exchange.deadline - std::chrono::steady_clock::now()),
                               std::chrono::milliseconds(0), longest_poll);
  std::array<pollfd, 2> entries{{{.fd = socket_.get(), .events = events, .revents = 0},
                                 {.fd = exchange.client, .events = POLLIN, .revents = 0}}};
  ::poll(entries.data(), entries.size(), static_cast<int>(left.count()));
  if (entries[1].revents != 0) return End::client_gone;
  if (std::chrono::steady_clock::now() >= exchange.deadline) return End::lost;
  return End::answered;
}

GatewayConnection::End GatewayConnection::exchange(const Exchange& exchange) {
  sent_ = 0;
  cannot_send_ = false;
  clean_ = false;
  head_.clear();
  while (true) {
    const Step sent = send_some(exchange);
    // Looked at while the request is still on its way: a gateway that does not want it says so.
    const Step got = read_some();
    if (got == Step::ended) return sent_ == exchange.request.size() ? End::lost : End::not_sent;
    if (got == Step::more) {
      auto head = parse_http_head(head_);
      if (!head) return refuse("the gateway's answer: " + head.error().message);
      if (!*head) continue;
      const auto status = http_status_of(**head);
      if (!status) return refuse("the gateway's answer: " + status.error().message);
      if (*status >= 200) return read_answer(exchange, **head, *status);
      head_.erase(0, (*head)->size);  // "100 Continue", which nobody waits for
      continue;
    }
    const short events = sent == Step::more ? POLLIN | POLLOUT : POLLIN;
    if (const End end = wait(exchange, events); end != End::answered) return end;
  }
}

GatewayConnection::End GatewayConnection::read_answer(const Exchange& exchange,
                                                      const HttpHead& head, int status) {
  const bool has_body = !exchange.is_head && status != 204 && status != 304;
  if (has_body && !head.states_length)
    return refuse(
        "answers without a stated length, such as streams of events, do not go through "
        "the door: ask the gateway over HTTP");
  const std::uint64_t body = has_body ? head.content_length : 0;
  std::byte* room = body > door_slab.value ? nullptr : exchange.room(head.size + body);
  if (room == nullptr) return refuse("the answer is larger than what goes through the door");
  const std::size_t total = head.size + body;
  const std::size_t here = std::min(head_.size(), total);
  std::memcpy(room, head_.data(), here);
  const bool may_go_on =
      sent_ == exchange.request.size() && head_.size() <= total && !says_close(head);
  const End end = read_body(exchange, std::span(room + here, total - here));
  clean_ = end == End::answered && may_go_on;
  used_ = std::chrono::steady_clock::now();
  return end;
}

GatewayConnection::End GatewayConnection::read_body(const Exchange& exchange,
                                                    std::span<std::byte> rest) {
  while (!rest.empty()) {
    const ssize_t n = ::recv(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    if (n > 0) {
      rest = rest.subspan(static_cast<std::size_t>(n));
      continue;
    }
    if (n == 0 || !try_again()) return End::lost;
    if (const End end = wait(exchange, POLLIN); end != End::answered) return end;
  }
  return End::answered;
}

}  // namespace orchid::door
