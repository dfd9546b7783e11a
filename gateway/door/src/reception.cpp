#include "reception.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/sockets.h"
#include "guest.h"
#include "refusal.h"
#include "transport/ucx_lane.h"

namespace orchid::door {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A client that was taken over must not fill the gateway with connections.
constexpr milliseconds between_connections{50};

std::array<std::byte, 16> address_of(const sockaddr_storage& storage) {
  std::array<std::byte, 16> address{};
  if (storage.ss_family == AF_INET) {
    address[10] = address[11] = std::byte{0xff};
    std::memcpy(&address[12], &reinterpret_cast<const sockaddr_in&>(storage).sin_addr, 4);
  } else {
    std::memcpy(address.data(), &reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr, 16);
  }
  return address;
}

/// The peer's last bytes are read first, since the kernel throws ours away otherwise.
void answer_and_close(int socket, int status, const std::string& document) {
  std::array<std::byte, 8192> unread;
  while (::recv(socket, unread.data(), unread.size(), MSG_DONTWAIT) > 0) {
  }
  const DoorWelcome welcome{.status = static_cast<std::uint16_t>(status),
                            .text_bytes = static_cast<std::uint32_t>(document.size())};
  std::string message(as_text(std::as_bytes(std::span(&welcome, 1))));
  message += document;
  [[maybe_unused]] const ssize_t sent =
      ::send(socket, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

int status_of(ErrorCode code) {
  if (code == ErrorCode::unauthenticated) return 401;
  return code == ErrorCode::unsupported ? 501 : 400;
}

void keep_alive(int socket) {
  const auto set = [socket](int level, int option, int value) {
    ::setsockopt(socket, level, option, &value, sizeof(value));
  };
  // A host that vanishes says nothing.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

}  // namespace

Reception::Reception(int listener, ReceptionOptions options)
    : listener_(listener), options_(std::move(options)), ucx_(transport::load_ucx()) {
  if (!ucx_) log::error("event=nobody_comes_in reason=\"{}\"", ucx_.error().message);
}

Failure Reception::run() {
  while (true)
    if (auto waited = wait(); !waited) return std::move(waited.error());
}

Result<void> Reception::wait() {
  std::vector<pollfd> entries{{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
  auto due = MonotonicTime::max();
  for (const Silent& silent : silent_) {
    entries.push_back({.fd = silent.socket.get(), .events = POLLIN, .revents = 0});
    due = std::min(due, silent.due);
  }
  for (const Client& client : clients_) {
    entries.push_back({.fd = client.channel.get(), .events = POLLIN, .revents = 0});
    if (client.wants_connection) due = std::min(due, client.next_connection);
  }
  int timeout = -1;
  if (due != MonotonicTime::max())
    timeout = static_cast<int>(std::clamp<std::int64_t>(
        std::chrono::ceil<milliseconds>(due - steady_clock::now()).count(), 0, 60'000));
  if (::poll(entries.data(), entries.size(), timeout) < 0 && errno != EINTR)
    return fail_errno("poll");
  hear_clients();
  hear_silent();
  if (entries.front().revents != 0) return accept_all();
  return {};
}

Result<void> Reception::accept_all() {
  // Not all at once: those who said something are heard in between.
  for (std::size_t i = 0; i < options_.silent; ++i) {
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    UniqueFd socket(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&storage), &size,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
      if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS)
        return fail_errno("accept");
      silent_.clear();  // no descriptors: strangers give theirs back
      return {};
    }
    if (silent_.size() >= options_.silent) silent_.pop_front();
    silent_.push_back({.socket = std::move(socket),
                       .address = address_of(storage),
                       .due = steady_clock::now() + options_.hello_time});
  }
  return {};
}

void Reception::hear_silent() {
  const MonotonicTime now = steady_clock::now();
  for (auto it = silent_.begin(); it != silent_.end();)
    it = hear(*it) && now < it->due ? std::next(it) : silent_.erase(it);
}

/// False: nothing more is to be heard from here.
bool Reception::hear(Silent& silent) {
  const ssize_t n = ::recv(silent.socket.get(), silent.bytes.data() + silent.got,
                           silent.bytes.size() - silent.got, MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  silent.got += static_cast<std::size_t>(n);
  if (silent.got < silent.bytes.size()) return true;
  const auto hello = parse_door_hello(silent.bytes);
  if (hello) {
    take_in(silent, *hello);
  } else if (hello.error().code != ErrorCode::bad_request) {  // a stranger is told nothing
    const int status = status_of(hello.error().code);
    answer_and_close(
        silent.socket.get(), status,
        problem_document(
            {.status = status, .code = hello.error().code, .detail = hello.error().message}));
  }
  return false;
}

std::optional<std::string> Reception::why_full(const Address& address) const {
  const auto newcomers = std::ranges::count(clients_, false, &Client::admitted);
  const auto of_it = std::ranges::count(clients_, address, &Client::address);
  if (clients_.size() >= options_.clients)
    return std::to_string(clients_.size()) + " connections are open";
  if (static_cast<std::size_t>(of_it) >= options_.of_one_address)
    return std::to_string(of_it) + " connections from your address are open";
  if (static_cast<std::size_t>(newcomers) >= options_.newcomers)
    return "too many clients connect at once";
  return std::nullopt;
}

void Reception::take_in(Silent& silent, const DoorHello& hello) {
  if (!ucx_) {
    answer_and_close(silent.socket.get(), 501,
                     problem_document({.status = 501,
                                       .code = ErrorCode::unsupported,
                                       .detail = "the door's host: " + ucx_.error().message}));
    return;
  }
  if (const auto full = why_full(silent.address)) {
    answer_and_close(silent.socket.get(), 503,
                     problem_document({.status = 503,
                                       .code = ErrorCode::no_capacity,
                                       .detail = "the door is full: " + *full,
                                       .retryable = true}));
    return;
  }
  start(silent, hello);
}

void Reception::start(Silent& silent, const DoorHello& hello) {
  auto channel = make_packet_pair();
  if (!channel) return log::error("event=no_client reason=\"{}\"", channel.error().message);
  auto gateway = connect_stream_at_once(options_.gateway);
  keep_alive(silent.socket.get());
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0)
    return log::error("event=no_client reason=\"{}\"", fail_errno("fork").error().message);
  if (pid == 0)
    ::_exit(live_as_guest({.client = std::move(silent.socket),
                           .parent = std::move(channel->second),
                           .gateway = gateway ? std::move(*gateway) : UniqueFd(),
                           .token_bytes = hello.token_bytes,
                           .parent_pid = parent}));
  clients_.push_back({.pid = pid,
                      .channel = std::move(channel->first),
                      .address = silent.address,
                      .next_connection = steady_clock::now()});
}

void Reception::hear_clients() {
  for (auto it = clients_.begin(); it != clients_.end();) {
    if (hear(*it)) {
      ++it;
    } else {
      end(*it);
      it = clients_.erase(it);
    }
  }
}

/// False: it has gone, or says what none of ours says.
bool Reception::hear(Client& client) {
  auto packet = receive_packet(client.channel.get(), false);
  if (!packet) return false;
  if (*packet && (*packet)->text == guest_wants_gateway) {
    client.wants_connection = true;
  } else if (*packet && (*packet)->text == guest_admitted && !client.admitted) {
    client.admitted = true;
  } else if (*packet) {
    return false;
  }
  return !client.wants_connection || steady_clock::now() < client.next_connection ||
         give_connection(client);
}

bool Reception::give_connection(Client& client) const {
  client.wants_connection = false;
  client.next_connection = steady_clock::now() + between_connections;
  auto gateway = connect_stream_at_once(options_.gateway);
  if (!gateway) return send_packet(client.channel.get(), gateway_is_gone).has_value();
  return send_packet(client.channel.get(), gateway_comes, {gateway->get()}).has_value();
}

/// Whatever it has become, it does not outlive its place in the list.
void Reception::end(const Client& client) {
  ::kill(client.pid, SIGKILL);
  while (::waitpid(client.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace orchid::door
