#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "ucx/ends.h"
#include "ucx/hello.h"

namespace orchid::transport {
namespace {

struct HostAndPort {
  std::string host;
  std::string port;
};

Result<HostAndPort> split(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0)
    return fail(ErrorCode::bad_request, "'" + address + "' is not host:port");
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  return HostAndPort{host, address.substr(colon + 1)};
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Numbers only: names are the caller's business, and would open files.
Result<AddressList> resolve(const std::string& address) {
  auto parts = split(address);
  if (!parts) return fail(std::move(parts.error()));
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found);
      error != 0)
    return fail(ErrorCode::bad_request, "'" + address + "': " + ::gai_strerror(error));
  return AddressList(found, ::freeaddrinfo);
}

Result<UniqueFd> connect_to(const std::string& address, LaneDeadline deadline) {
  auto found = resolve(address);
  if (!found) return fail(std::move(found.error()));
  const addrinfo& target = **found;
  UniqueFd socket(::socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("socket");
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (::connect(socket.get(), target.ai_addr, target.ai_addrlen) == 0) return socket;
  while (errno == EINPROGRESS || errno == EINTR) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd entry{.fd = socket.get(), .events = POLLOUT, .revents = 0};
    if (left.count() <= 0) return fail(ErrorCode::timed_out, "no connection to " + address);
    if (::poll(&entry, 1, static_cast<int>(std::min<long>(left.count() + 1, 60'000))) <= 0) {
      errno = EINPROGRESS;
      continue;
    }
    int error = 0;
    socklen_t length = sizeof(error);
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0) return socket;
    errno = error;
    break;
  }
  return std::unexpected(system_failure(ErrorCode::unreachable, "connect to " + address, errno));
}

/// The worker's answer to our hello, checked.
Result<Welcome> read_welcome(Door& door, const LaneGeometry& largest) {
  Welcome welcome;
  if (auto got = door.read(writable_bytes_of(welcome)); !got) return fail(std::move(got.error()));
  if (welcome.magic != hello_magic)
    return fail(ErrorCode::bad_request, "the other end is no Orchid worker");
  if (welcome.version != lane_version)
    return fail(ErrorCode::unsupported,
                "the worker speaks version " + std::to_string(welcome.version) +
                    " of the lane, this client version " + std::to_string(lane_version));
  if (welcome.notice_size > largest_notice || welcome.request_bytes < 4096 ||
      welcome.response_bytes < 4096)
    return fail(ErrorCode::bad_request, "a welcome out of range");
  if (welcome.request_bytes > largest.request_bytes.value ||
      welcome.response_bytes > largest.response_bytes.value)
    return fail(ErrorCode::too_large, "the worker's lane is larger than this client allows");
  return welcome;
}

}  // namespace

Result<UcxLaneClient> UcxLaneClient::connect(UcxContext& context, const Options& options) {
  auto socket = connect_to(options.address, options.deadline);
  if (!socket) return fail(std::move(socket.error()));
  Door door(std::move(*socket), options.deadline);
  auto open = open_link(context, options.key);
  if (!open) return fail(std::move(open.error()));
  const auto notice = encode({open->doors.ports(), open->link->address()});
  const Hello hello{.version = lane_version,
                    .notice_size = static_cast<std::uint32_t>(notice.size()),
                    .key = options.key};
  if (auto sent = door.write(bytes_of(hello)); !sent) return fail(std::move(sent.error()));
  if (auto sent = door.write(notice); !sent) return fail(std::move(sent.error()));
  auto welcome = read_welcome(door, options.largest);
  if (!welcome) return fail(std::move(welcome.error()));
  std::vector<std::byte> bytes(welcome->notice_size);
  if (auto got = door.read(bytes); !got) return fail(std::move(got.error()));
  auto peer = decode_notice(bytes);
  if (!peer) return fail(std::move(peer.error()));

  auto requests = Slab::map(welcome->request_bytes);
  if (!requests) return fail(std::move(requests.error()));
  auto responses = Slab::map(welcome->response_bytes);
  if (!responses) return fail(std::move(responses.error()));
  if (auto done = wire_up(door, *open->link, open->doors, *peer); !done)
    return fail(std::move(done.error()));
  return UcxLaneClient(
      std::make_unique<State>(std::move(*requests), std::move(*responses), std::move(open->link)));
}

}  // namespace orchid::transport
