#include "ucx/guests.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace orchid::transport {
namespace {

/// Any port of one address of this host, or of all.
Result<TcpListener> listen_on(const std::string& host) {
  if (host.empty()) return listen_tcp("0.0.0.0:0");
  return listen_tcp((host.find(':') == std::string::npos ? host : "[" + host + "]") + ":0");
}

}  // namespace

Guests::Guests(Options options, TcpListener listener)
    : options_(std::move(options)),
      socket_(std::move(listener.socket)),
      port_(listener.port),
      address_(options_.address.empty() ? std::to_string(port_) : std::move(listener.address)) {}

Result<Guests> Guests::listen(Options options) {
  auto listener = listen_on(options.address);
  if (!listener) return fail(std::move(listener.error()));
  return Guests(std::move(options), std::move(*listener));
}

bool Guests::LetIn::is_complete() const {
  return std::ranges::all_of(guests, [](const Guest& guest) { return bool(guest.socket); });
}

void Guests::admit(LetIn& guests) {
  for (;;) {
    UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    send_at_once(socket.get());
    // Whoever has said hello meanwhile is not among the silent ones.
    if (pending_.size() >= options_.pending_peers) read_hellos(guests);
    if (pending_.size() >= options_.pending_peers) pending_.pop_front();
    pending_.push_back({.socket = std::move(socket),
                        .deadline = std::chrono::steady_clock::now() + options_.hello_timeout});
  }
}

/// A complete hello: with a right key and version its sender is let in, once for each key.
void Guests::check(Pending& pending, LetIn& guests) const {
  Hello hello;
  std::memcpy(&hello, pending.bytes.data(), sizeof(hello));
  if (hello.magic != options_.magic) return;
  for (std::size_t i = 0; i < guests.keys.size(); ++i) {
    if (guests.guests[i].socket || !options_.has_key(hello, guests.keys[i])) continue;
    if (hello.version == options_.version) {
      guests.guests[i] = {.socket = std::move(pending.socket), .hello = hello};
      return;
    }
    const Welcome refusal{.magic = options_.magic, .version = options_.version};
    [[maybe_unused]] const ssize_t sent =
        ::send(pending.socket.get(), &refusal, sizeof(refusal), MSG_NOSIGNAL);
  }
}

void Guests::read_hellos(LetIn& guests) {
  const auto now = std::chrono::steady_clock::now();
  for (auto it = pending_.begin(); it != pending_.end();) {
    Pending& pending = *it;
    const ssize_t n = ::recv(pending.socket.get(), pending.bytes.data() + pending.got,
                             pending.bytes.size() - pending.got, 0);
    if (n > 0) pending.got += static_cast<std::size_t>(n);
    if (pending.got == pending.bytes.size()) {
      check(pending, guests);
      it = pending_.erase(it);
    } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || now > pending.deadline) {
      it = pending_.erase(it);
    } else {
      ++it;
    }
  }
}

Result<UniqueFd> Guests::wait(LaneDeadline deadline, int stop) {
  auto guests = wait_for_all(std::span(&options_.key, 1), deadline, stop);
  if (!guests) return fail(std::move(guests.error()));
  return std::move(guests->front().socket);
}

Result<std::vector<Guests::Guest>> Guests::wait_for_all(std::span<const ConnectionKey> keys,
                                                        LaneDeadline deadline, int stop) {
  LetIn guests{.keys = keys, .guests = std::vector<Guest>(keys.size())};
  for (;;) {
    std::vector<pollfd> entries{{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                {.fd = stop, .events = POLLIN, .revents = 0}};
    LaneDeadline next = deadline;
    for (const Pending& pending : pending_) {
      entries.push_back({.fd = pending.socket.get(), .events = POLLIN, .revents = 0});
      next = std::min(next, pending.deadline);
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        next - std::chrono::steady_clock::now());
    const int timeout = static_cast<int>(std::clamp<long>(left.count() + 1, 0, 60'000));
    if (::poll(entries.data(), entries.size(), timeout) < 0 && errno != EINTR)
      return fail_errno("poll");
    if (entries[1].revents != 0) return fail(ErrorCode::cancelled, "told to stop waiting");
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::timed_out, "no client came");
    if (entries[0].revents != 0) admit(guests);
    read_hellos(guests);
    if (guests.is_complete()) {
      pending_.clear();
      socket_.reset();
      return std::move(guests.guests);
    }
  }
}

}  // namespace orchid::transport
