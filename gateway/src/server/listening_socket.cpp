#include "server/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "foundation/sockets.h"
#include "foundation/tcp.h"

namespace orchid::gateway {
namespace {

constexpr int backlog = 1024;

Result<std::pair<std::string, std::string>> split_address(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  const auto wrong = [&] {
    return fail(
        ErrorCode::bad_configuration,
        "'" + std::string(address) +
            "' is not an address to listen on: write 127.0.0.1:8080, [::1]:8080 or NAME:PORT");
  };
  if (colon == std::string_view::npos || colon == 0 || !is_port(address.substr(colon + 1)))
    return wrong();
  std::string_view host = address.substr(0, colon);
  if (host.front() == '[') {
    if (host.back() != ']') return wrong();
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong();
  }
  return std::pair{std::string(host), std::string(address.substr(colon + 1))};
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> resolve(std::string_view address) {
  auto parts = split_address(address);
  if (!parts) return fail(std::move(parts.error()));
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(parts->first.c_str(), parts->second.c_str(), &hints, &found);
  if (code != 0)
    return fail(ErrorCode::bad_configuration,
                "cannot resolve '" + std::string(address) + "': " + ::gai_strerror(code) +
                    ": use a numeric address, or a name that this host knows");
  return Addresses(found);
}

Result<std::string> url_of(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (::getsockname(socket, address, &size) != 0) return fail_errno("getsockname");
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(address, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return fail(ErrorCode::system, "getnameinfo");
  const std::string name =
      address->sa_family == AF_INET6 ? "[" + std::string(host.data()) + "]" : host.data();
  return "http://" + name + ":" + port.data();
}

}  // namespace

Result<ListeningSocket> listen_tcp(std::string_view address) {
  auto addresses = resolve(address);
  if (!addresses) return fail(std::move(addresses.error()));
  const addrinfo& chosen = **addresses;
  UniqueFd socket(::socket(chosen.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const std::string step = "listen on " + std::string(address);
  if (!socket)
    return fail(system_failure(errno == EAFNOSUPPORT ? ErrorCode::unsupported : ErrorCode::system,
                               step, errno));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (chosen.ai_family == AF_INET6)
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(socket.get(), chosen.ai_addr, chosen.ai_addrlen) != 0 ||
      ::listen(socket.get(), backlog) != 0) {
    ErrorCode code = ErrorCode::system;
    if (errno == EADDRNOTAVAIL) code = ErrorCode::unsupported;
    if (errno == EADDRINUSE) code = ErrorCode::conflict;
    return fail(system_failure(code, step, errno));
  }
  auto url = url_of(socket.get());
  if (!url) return fail(std::move(url.error()));
  return ListeningSocket{std::move(socket), chosen.ai_family, false, std::move(*url)};
}

Result<ListeningSocket> listen_unix(const std::filesystem::path& path, UnixPeers peers) {
  auto fitted = fit_socket_path(path);
  if (!fitted) return fail(std::move(fitted.error()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, fitted->path.data(), fitted->path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("socket");
  ::unlink(path.c_str());
  const mode_t previous = ::umask(peers == UnixPeers::anybody_by_uid ? 0111 : 0177);
  const int bound =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::umask(previous);
  if (bound != 0 || ::listen(socket.get(), backlog) != 0)
    return fail_errno("listen on " + path.string());
  return ListeningSocket{std::move(socket), AF_UNIX, peers != UnixPeers::by_token,
                         "unix:" + path.string()};
}

}  // namespace orchid::gateway
