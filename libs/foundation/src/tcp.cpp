#include "foundation/tcp.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "foundation/numbers.h"

namespace orchid {
namespace {

using Time = std::chrono::steady_clock::time_point;
using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// A host that vanishes says nothing: so its silence is noticed, of an idle connection by probes, of
// one with bytes under way by their missing acknowledgement, both within this time.
constexpr int idle_before_probe_s = 2;
constexpr int probe_interval_s = 1;
constexpr int probes = 4;
constexpr int longest_silence_ms = 6'000;

struct Endpoint {
  std::string host;
  std::string port;
  bool bracketed = false;
};

/// Nothing in `host`: it has no such form.
Endpoint split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || !is_port(std::string_view(address).substr(colon + 1)))
    return {};
  Endpoint parts{address.substr(0, colon), address.substr(colon + 1)};
  if (parts.host.size() > 2 && parts.host.starts_with('[') && parts.host.ends_with(']')) {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
    parts.bracketed = true;
  }
  return parts;
}

/// The code of getaddrinfo; 0: there is an address.
int look_up(const Endpoint& parts, int flags, Addresses& addresses) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &found);
  addresses.reset(found);
  return code;
}

Result<void> await_connection(int socket, Time deadline) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return fail(ErrorCode::timed_out, "it does not answer");
    pollfd entry{socket, POLLOUT, 0};
    const int ready =
        ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    if (ready < 0 && errno != EINTR) return fail_errno("poll");
    if (ready <= 0) continue;
    int error = 0;
    socklen_t size = sizeof(error);
    if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error == 0) return {};
    return fail(system_failure(ErrorCode::unreachable, "connect", error));
  }
}

Result<UniqueFd> connect_to(const addrinfo& target, Time deadline) {
  UniqueFd socket(::socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("socket");
  send_at_once(socket.get());
  if (::connect(socket.get(), target.ai_addr, target.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS && errno != EINTR)
    return fail(system_failure(ErrorCode::unreachable, "connect", errno));
  if (auto connected = await_connection(socket.get(), deadline); !connected)
    return fail(std::move(connected.error()));
  return socket;
}

void set_option(int socket, int level, int option, int value) {
  (void)::setsockopt(socket, level, option, &value, sizeof(value));
}

}  // namespace

bool is_port(std::string_view text) { return parse_number<std::uint16_t>(text).has_value(); }

Result<TcpListener> listen_tcp(const std::string& address) {
  const Endpoint parts = split(address);
  Addresses found(nullptr, ::freeaddrinfo);
  if (parts.host.empty() ||
      look_up(parts, AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE, found) != 0)
    return fail(ErrorCode::bad_configuration,
                "'" + address + "' is not IP:port, such as 192.0.2.7:0");
  TcpListener listener{.host = parts.host};
  listener.socket.reset(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.socket) return fail_errno("socket");
  // Who is started again at the same port need not wait until the last one's connections are
  // forgotten.
  const int on = 1;
  ::setsockopt(listener.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(listener.socket.get(), found->ai_addr, found->ai_addrlen) != 0)
    return fail(system_failure(ErrorCode::bad_configuration, "listening at " + address, errno));
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  if (::listen(listener.socket.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    return fail_errno("listen");
  listener.port =
      ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                        : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
  listener.address = (parts.bracketed ? "[" + listener.host + "]" : listener.host) + ":" +
                     std::to_string(listener.port);
  return listener;
}

Result<UniqueFd> connect_tcp(const std::string& address, Time deadline, HostNames names) {
  const Endpoint parts = split(address);
  if (parts.host.empty()) return fail(ErrorCode::bad_request, "'" + address + "' is no HOST:PORT");
  Addresses found(nullptr, ::freeaddrinfo);
  const bool numbers = names == HostNames::refused;
  if (const int code = look_up(parts, numbers ? AI_NUMERICHOST | AI_NUMERICSERV : 0, found);
      code != 0)
    return fail(numbers ? ErrorCode::bad_request : ErrorCode::unreachable,
                "'" + address + "' cannot be looked up: " + ::gai_strerror(code));
  Failure last{ErrorCode::unreachable, "no address"};
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    auto socket = connect_to(*at, deadline);
    if (socket) return socket;
    last = std::move(socket.error());
  }
  return fail(std::move(last).while_doing("connecting to " + address));
}

std::string local_host(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  const void* host = nullptr;
  if (storage.ss_family == AF_INET)
    host = &reinterpret_cast<const sockaddr_in&>(storage).sin_addr;
  else if (storage.ss_family == AF_INET6)
    host = &reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (host == nullptr || ::inet_ntop(storage.ss_family, host, text.data(),
                                     static_cast<socklen_t>(text.size())) == nullptr)
    return {};
  return text.data();
}

std::string local_host_towards(const std::string& address) {
  const Endpoint parts = split(address);
  Addresses found(nullptr, ::freeaddrinfo);
  if (parts.host.empty() || look_up(parts, AI_NUMERICHOST | AI_NUMERICSERV, found) != 0) return {};
  const UniqueFd socket(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) return {};
  return local_host(socket.get());
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void end_when_silent(int socket) {
  end_when_silent_and_idle(socket);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, longest_silence_ms);
}

/// With a TCP_USER_TIMEOUT the kernel also ends a connection whose other host answers, and whose
/// reader has no room for more.
void end_when_silent_and_idle(int socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, idle_before_probe_s);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, probe_interval_s);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
}

bool has_ipv6_loopback() {
  const UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return socket &&
         ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace orchid
