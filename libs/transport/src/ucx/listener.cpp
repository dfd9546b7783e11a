#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/tcp.h"
#include "ucx/ends.h"
#include "ucx/hello.h"

namespace orchid::transport {
namespace {

/// Somebody who has connected and not yet said everything.
struct Pending {
  UniqueFd socket;
  LaneDeadline deadline;
  std::array<std::byte, sizeof(Hello)> bytes{};
  std::size_t got = 0;
};

/// Any port of one address of this host, or of all.
Result<TcpListener> listen_on(const std::string& host) {
  if (host.empty()) return listen_tcp("0.0.0.0:0");
  return listen_tcp((host.find(':') == std::string::npos ? host : "[" + host + "]") + ":0");
}

}  // namespace

class UcxLaneListener::State {
 public:
  State(UcxContext& context, Options options, TcpListener listener)
      : context_(context),
        options_(std::move(options)),
        socket_(std::move(listener.socket)),
        port_(listener.port),
        address_(options_.address.empty() ? std::to_string(port_) : std::move(listener.address)) {}
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] Result<UcxLaneWorker> accept(LaneDeadline deadline, int stop);

 private:
  [[nodiscard]] Result<UniqueFd> wait_for_guest(LaneDeadline deadline, int stop);
  void admit_pending();
  [[nodiscard]] std::optional<UniqueFd> read_hellos();
  [[nodiscard]] std::optional<UniqueFd> check(Pending& pending);
  [[nodiscard]] Result<UcxLaneWorker> welcome(UniqueFd guest);

  UcxContext& context_;
  Options options_;
  UniqueFd socket_;
  int port_;
  std::string address_;
  std::list<Pending> pending_;  // oldest first
};

void UcxLaneListener::State::admit_pending() {
  for (;;) {
    UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    send_at_once(socket.get());
    if (pending_.size() >= options_.pending_peers) pending_.pop_front();
    pending_.push_back({.socket = std::move(socket),
                        .deadline = std::chrono::steady_clock::now() + options_.hello_timeout});
  }
}

/// A complete hello: with the right key and version its sender is let in.
std::optional<UniqueFd> UcxLaneListener::State::check(Pending& pending) {
  Hello hello;
  std::memcpy(&hello, pending.bytes.data(), sizeof(hello));
  if (hello.magic != hello_magic || !same_key(hello.key, options_.key)) return std::nullopt;
  if (hello.version != lane_version) {
    const Welcome refusal{.version = lane_version};
    [[maybe_unused]] const ssize_t sent =
        ::send(pending.socket.get(), &refusal, sizeof(refusal), MSG_NOSIGNAL);
    return std::nullopt;
  }
  return std::move(pending.socket);
}

std::optional<UniqueFd> UcxLaneListener::State::read_hellos() {
  const auto now = std::chrono::steady_clock::now();
  for (auto it = pending_.begin(); it != pending_.end();) {
    Pending& pending = *it;
    const ssize_t n = ::recv(pending.socket.get(), pending.bytes.data() + pending.got,
                             pending.bytes.size() - pending.got, 0);
    if (n > 0) pending.got += static_cast<std::size_t>(n);
    if (pending.got == pending.bytes.size()) {
      if (auto guest = check(pending)) return guest;
      it = pending_.erase(it);
    } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || now > pending.deadline) {
      it = pending_.erase(it);
    } else {
      ++it;
    }
  }
  return std::nullopt;
}

Result<UniqueFd> UcxLaneListener::State::wait_for_guest(LaneDeadline deadline, int stop) {
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
    if (entries[0].revents != 0) admit_pending();
    if (auto guest = read_hellos()) return std::move(*guest);
  }
}

/// Only now does UCX listen, until its client has connected.
Result<UcxLaneWorker> UcxLaneListener::State::welcome(UniqueFd guest) {
  Door door(std::move(guest), std::chrono::steady_clock::now() + options_.hello_timeout);
  auto requests = Slab::map(options_.geometry.request_bytes.value);
  if (!requests) return fail(std::move(requests.error()));
  auto responses = Slab::map(options_.geometry.response_bytes.value);
  if (!responses) return fail(std::move(responses.error()));
  auto open = open_link(context_, options_.key);
  if (!open) return fail(std::move(open.error()));
  const Welcome answer{.version = lane_version,
                       .request_bytes = options_.geometry.request_bytes.value,
                       .response_bytes = options_.geometry.response_bytes.value};
  if (auto sent = door.write(bytes_of(answer)); !sent) return fail(std::move(sent.error()));
  const Notice notice{open->doors.ports(), open->link->address()};
  if (auto sent = door.write_notice(notice); !sent) return fail(std::move(sent.error()));
  auto client = door.read_notice();
  if (!client) return fail(std::move(client.error()));
  if (auto done = wire_up_worker(door, *open, *client); !done) return fail(std::move(done.error()));
  return UcxLaneWorker(std::make_unique<UcxLaneWorker::State>(
      std::move(*requests), std::move(*responses), std::move(open->link)));
}

Result<UcxLaneWorker> UcxLaneListener::State::accept(LaneDeadline deadline, int stop) {
  auto guest = wait_for_guest(deadline, stop);
  if (!guest) return fail(std::move(guest.error()));
  pending_.clear();
  socket_.reset();
  return welcome(std::move(*guest));
}

Result<UcxLaneListener> UcxLaneListener::listen(UcxContext& context, const Options& options) {
  auto listener = listen_on(options.address);
  if (!listener) return fail(std::move(listener.error()));
  return UcxLaneListener(std::make_unique<State>(context, options, std::move(*listener)));
}

UcxLaneListener::UcxLaneListener(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxLaneListener::UcxLaneListener(UcxLaneListener&& other) noexcept = default;
UcxLaneListener& UcxLaneListener::operator=(UcxLaneListener&& other) noexcept = default;
UcxLaneListener::~UcxLaneListener() = default;
int UcxLaneListener::port() const { return state_->port(); }
const std::string& UcxLaneListener::address() const { return state_->address(); }
Result<UcxLaneWorker> UcxLaneListener::accept(LaneDeadline deadline, int stop) {
  return state_->accept(deadline, stop);
}

}  // namespace orchid::transport
