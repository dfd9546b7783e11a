#include "ucx/doors.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/numbers.h"
#include "foundation/tcp.h"
#include "foundation/unique_fd.h"
#include "ucx/told_to_stop.h"

namespace orchid::transport {
namespace {

std::optional<TcpSocket> inspect(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0 || !S_ISSOCK(status.st_mode)) return std::nullopt;
  int type = 0;
  socklen_t length = sizeof(type);
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM)
    return std::nullopt;
  int listens = 0;
  length = sizeof(listens);
  ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length);
  sockaddr_storage own{};
  length = sizeof(own);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) != 0) return std::nullopt;
  const auto local = socket_name(own);
  if (!local) return std::nullopt;
  TcpSocket socket{.fd = fd, .inode = status.st_ino, .listens = listens != 0};
  socket.names.local = *local;
  // One whose other end is gone may still have something to read.
  if (const auto remote = peer_of(fd)) socket.names.remote = *remote;
  return socket;
}

/// Which epoll descriptor of this process waits for another one, and for what.
struct Watch {
  int epoll = -1;
  epoll_event event{};
};
bool is_epoll(const char* descriptor) {
  std::array<char, 64> target{};
  const std::string link = std::string("/proc/self/fd/") + descriptor;
  return ::readlink(link.c_str(), target.data(), target.size() - 1) > 0 &&
         std::string_view(target.data()) == "anon_inode:[eventpoll]";
}
/// By the descriptor that is waited for. Read at once: strangers may have brought a thousand.
using Watches = std::multimap<int, Watch>;
Watches all_watches() {
  Watches watches;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fdinfo"), ::closedir);
  if (!directory) return watches;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (!is_epoll(entry->d_name)) continue;
    std::ifstream file(std::string("/proc/self/fdinfo/") + entry->d_name);
    for (std::string line; std::getline(file, line);) {
      int target = -1;
      unsigned events = 0;
      unsigned long long data = 0;
      if (std::sscanf(line.c_str(), "tfd: %d events: %x data: %llx", &target, &events, &data) ==
          3) {
        Watch watch{.epoll = leading_number<int>(entry->d_name).value_or(-1), .event = {}};
        watch.event.events = events;
        watch.event.data.u64 = data;
        watches.emplace(target, watch);
      }
    }
  }
  return watches;
}

/// Whether UCX's thread, which accepts connections until there are no more, waits for events.
bool accepting_thread_sleeps() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/task"), ::closedir);
  if (!directory) return true;
  while (const dirent* entry = ::readdir(directory.get())) {
    std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/stat");
    std::string text;
    std::getline(file, text);
    if (const auto name = text.find("(async) "); name != std::string::npos)
      if (text.compare(name, 9, "(async) S") != 0) return false;
  }
  return true;
}

/// Puts a descriptor that nothing ever happens to in the place of `fd`, whose socket is closed if
/// nobody else has it. UCX keeps the number, and whoever waited for it waits on: the kernel forgets
/// that, and UCX would take it for an error when it cleans up.
Result<void> put_nothing_in_place_of(int fd, const Watches& watches) {
  const UniqueFd nothing(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!nothing) return fail_errno("eventfd");
  if (::dup3(nothing.get(), fd, O_CLOEXEC) < 0) return fail_errno("close a socket of UCX's");
  const auto [first, last] = watches.equal_range(fd);
  for (auto at = first; at != last; ++at) {
    Watch watch = at->second;
    watch.event.events &= ~static_cast<std::uint32_t>(EPOLLOUT);  // it may always be written
    ::epoll_ctl(watch.epoll, EPOLL_CTL_ADD, fd, &watch.event);
  }
  return {};
}

SocketPair seen_from_there(const TcpSocket& socket) {
  return {socket.names.remote, socket.names.local};
}

bool contains(std::span<const std::uint16_t> ports, std::uint16_t port) {
  return std::ranges::find(ports, port) != ports.end();
}

bool is_one_of(std::span<const TcpSocket> known, const TcpSocket& socket) {
  return std::ranges::any_of(known, [&](const TcpSocket& one) {
    return one.fd == socket.fd && one.inode == socket.inode;
  });
}

/// "0.0.0.0" or "::".
bool is_any(const HostAddress& address) {
  const auto is_zero = [](std::byte byte) { return byte == std::byte{}; };
  return std::ranges::all_of(std::span(address).first<10>(), is_zero) &&
         std::ranges::all_of(std::span(address).last<4>(), is_zero);
}

/// Other addresses of this host may have the same port, and it is somebody else's there.
bool came_through(const TcpSocket& door, const TcpSocket& socket) {
  return socket.names.local.port == door.names.local.port &&
         (is_any(door.names.local.address) ||
          socket.names.local.address == door.names.local.address);
}

}  // namespace

Result<std::vector<TcpSocket>> tcp_sockets() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
  if (!directory) return fail_errno("open /proc/self/fd");
  std::vector<TcpSocket> sockets;
  while (const dirent* entry = ::readdir(directory.get())) {
    const auto fd = parse_number<int>(entry->d_name);
    if (!fd) continue;
    if (const auto socket = inspect(*fd)) sockets.push_back(*socket);
  }
  return sockets;
}

/// UCX leaves it to be inherited; it probes an idle connection, and waits for ever on a busy one.
void Doors::make_ours(const TcpSocket& connection) const {
  ::fcntl(connection.fd, F_SETFD, FD_CLOEXEC);
  if (peers_ == Peers::compute)
    end_when_silent_and_idle(connection.fd);
  else
    end_when_silent(connection.fd);
}

Result<Doors> Doors::watch(Peers peers) {
  auto sockets = tcp_sockets();
  if (!sockets) return fail(std::move(sockets.error()));
  Doors doors;
  doors.peers_ = peers;
  doors.before_ = std::move(*sockets);
  return doors;
}

Result<void> Doors::opened(std::span<const std::byte> worker_address) {
  auto sockets = tcp_sockets();
  if (!sockets) return fail(std::move(sockets.error()));
  for (const TcpSocket& socket : *sockets) {
    const std::array<std::byte, 2> port{static_cast<std::byte>(socket.names.local.port >> 8),
                                        static_cast<std::byte>(socket.names.local.port)};
    if (!socket.listens || is_one_of(before_, socket) ||
        std::ranges::search(worker_address, port).empty())
      continue;
    ::fcntl(socket.fd, F_SETFD, FD_CLOEXEC);  // UCX leaves it to be inherited
    doors_.push_back(socket);
  }
  return {};
}

std::vector<std::uint16_t> Doors::ports() const {
  std::vector<std::uint16_t> ports;
  for (const TcpSocket& door : doors_) ports.push_back(door.names.local.port);
  return ports;
}

Result<void> Doors::shut(std::span<const SocketPair> peers, LaneDeadline deadline, int stop) const {
  for (;;) {
    auto sockets = tcp_sockets();
    if (!sockets) return fail(std::move(sockets.error()));
    const auto has_come = [&](const SocketPair& peer) {
      return std::ranges::find(*sockets, peer, seen_from_there) != sockets->end();
    };
    if (std::ranges::all_of(peers, has_come)) break;
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::timed_out, "the other host's UCX did not connect in time");
    if (is_told_to_stop(stop)) return fail(ErrorCode::cancelled, "told to stop connecting");
    ::sched_yield();  // UCX's thread may need this core
  }
  if (auto closed = close(deadline, stop); !closed) return closed;
  return cut_strangers(peers);
}

Result<void> Doors::close(LaneDeadline deadline, int stop) const {
  for (const TcpSocket& door : doors_) {
    const auto now = inspect(door.fd);
    if (!now || now->inode != door.inode) continue;
    const Watches watches = all_watches();
    const auto [first, last] = watches.equal_range(door.fd);
    for (auto at = first; at != last; ++at)
      ::epoll_ctl(at->second.epoll, EPOLL_CTL_DEL, door.fd, nullptr);  // it is not called again
    // In the middle of accepting, UCX would take the new descriptor for a broken socket, and what
    // it accepts would come behind our back.
    while (!accepting_thread_sleeps()) {
      if (std::chrono::steady_clock::now() > deadline)
        return fail(ErrorCode::timed_out, "strangers kept UCX's door open until the deadline");
      if (is_told_to_stop(stop)) return fail(ErrorCode::cancelled, "told to stop connecting");
      ::sched_yield();
    }
    if (auto closed = put_nothing_in_place_of(door.fd, watches); !closed) return closed;
  }
  return {};
}

Result<void> Doors::cut_strangers(std::span<const SocketPair> peers) const {
  auto sockets = tcp_sockets();
  if (!sockets) return fail(std::move(sockets.error()));
  const Watches watches = all_watches();
  for (const TcpSocket& socket : *sockets) {
    const bool came = std::ranges::any_of(
        doors_, [&](const TcpSocket& door) { return came_through(door, socket); });
    if (socket.listens || !came || is_one_of(before_, socket)) continue;
    if (std::ranges::find(peers, seen_from_there(socket)) != peers.end())
      make_ours(socket);
    else if (auto cut = put_nothing_in_place_of(socket.fd, watches); !cut)
      return cut;
  }
  return {};
}

Result<std::vector<TcpSocket>> Doors::connections_to(std::span<const std::uint16_t> ports) const {
  return connections_to(ports, {});
}

Result<std::vector<TcpSocket>> Doors::connections_to(std::span<const std::uint16_t> ports,
                                                     std::span<const TcpSocket> known) const {
  auto sockets = tcp_sockets();
  if (!sockets) return fail(std::move(sockets.error()));
  std::vector<TcpSocket> found;
  for (const TcpSocket& socket : *sockets) {
    const bool came = std::ranges::any_of(
        doors_, [&](const TcpSocket& door) { return came_through(door, socket); });
    if (!socket.listens && !came && contains(ports, socket.names.remote.port) &&
        !is_one_of(before_, socket) && !is_one_of(known, socket)) {
      make_ours(socket);
      found.push_back(socket);
    }
  }
  return found;
}

bool was_read_to_its_end(int connection) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  std::byte next{};
  return ::getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         info.tcpi_state == TCP_CLOSE_WAIT &&
         ::recv(connection, &next, sizeof(next), MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace orchid::transport

#if defined(ORCHID_SANITIZED)
// Whoever looks through all descriptors meets those that others open and close just then; the
// kernel keeps these apart, and what is seen is judged by its addresses. UCX is not instrumented,
// so the thread sanitizer does not see how its own thread and ours agree. It has a line of its own,
// since a confined process cannot read its symbols, and knows calls by their libraries alone. Nor
// is it seen how the C++ library counts who still has an exception: the last one to leave it ends
// what others have read.
extern "C" const char* __tsan_default_suppressions() {
  return "race:orchid::transport::tcp_sockets\n"
         "race:libucs.so\n"
         "race:libuct.so\n"
         "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
#endif
