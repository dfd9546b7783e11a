#include "ucx/hello.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "ucx/context.h"

namespace orchid::transport {
namespace {

constexpr std::size_t largest_list = 64;

}  // namespace

std::vector<std::byte> encode(const Notice& notice) {
  const auto count = static_cast<std::uint16_t>(notice.ports.size());
  std::vector<std::byte> bytes;
  const auto append = [&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  append(bytes_of(count));
  append(std::as_bytes(std::span(notice.ports)));
  const auto sources = static_cast<std::uint16_t>(notice.sources.size());
  append(bytes_of(sources));
  append(std::as_bytes(std::span(notice.sources)));
  append(notice.address);
  return bytes;
}

namespace {

/// How many there are, in two bytes, and they.
template <typename Item>
Result<std::vector<Item>> take_list(std::span<const std::byte>& bytes) {
  std::uint16_t count = 0;
  if (bytes.size() < sizeof(count)) return fail(ErrorCode::bad_request, "a notice without a list");
  std::memcpy(&count, bytes.data(), sizeof(count));
  bytes = bytes.subspan(sizeof(count));
  const std::size_t size = count * sizeof(Item);
  if (count > largest_list || bytes.size() < size)
    return fail(ErrorCode::bad_request, "a notice of a wrong length");
  std::vector<Item> items(count);
  if (count != 0) std::memcpy(items.data(), bytes.data(), size);
  bytes = bytes.subspan(size);
  return items;
}

}  // namespace

Result<Notice> decode_notice(std::span<const std::byte> bytes) {
  auto ports = take_list<std::uint16_t>(bytes);
  if (!ports) return fail(std::move(ports.error()));
  auto sources = take_list<HostAddress>(bytes);
  if (!sources) return fail(std::move(sources.error()));
  if (bytes.empty()) return fail(ErrorCode::bad_request, "a notice without an address");
  return Notice{std::move(*ports), std::move(*sources), {bytes.begin(), bytes.end()}};
}

std::vector<HostAddress> Door::peer_addresses(std::span<const HostAddress> own) const {
  const auto peer = peer_of(socket_.get());
  if (!peer) return {};
  std::vector<HostAddress> addresses{peer->address};
  if (std::ranges::find(own, peer->address) != own.end())
    addresses.insert(addresses.end(), own.begin(), own.end());
  return addresses;
}

Result<void> Door::wait(short events) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline_ - std::chrono::steady_clock::now());
    if (left.count() <= 0)
      return fail(ErrorCode::timed_out, "the other host did not answer in time");
    pollfd entry{.fd = socket_.get(), .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<long>(left.count() + 1, 60'000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return fail_errno("poll");
  }
}

Result<void> Door::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (errno != EAGAIN && errno != EINTR) {
      return std::unexpected(system_failure(ErrorCode::unreachable, "greet the other host", errno));
    } else if (auto ready = wait(POLLOUT); !ready) {
      return ready;
    }
  }
  return {};
}

Result<void> Door::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (n == 0)
      return fail(ErrorCode::unreachable,
                  "the other host hung up: it serves somebody else, or the key is wrong");
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (errno != EAGAIN && errno != EINTR) {
      return std::unexpected(system_failure(ErrorCode::unreachable, "greet the other host", errno));
    } else if (auto ready = wait(POLLIN); !ready) {
      return ready;
    }
  }
  return {};
}

bool Door::readable() const {
  pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) > 0;
}

Result<void> Door::write_notice(const Notice& notice) {
  const auto bytes = encode(notice);
  const auto size = static_cast<std::uint32_t>(bytes.size());
  if (auto written = write(bytes_of(size)); !written) return written;
  return write(bytes);
}

Result<Notice> Door::read_notice() {
  std::uint32_t size = 0;
  if (auto got = read(writable_bytes_of(size)); !got) return fail(std::move(got.error()));
  if (size > largest_notice) return fail(ErrorCode::bad_request, "a notice that is too long");
  std::vector<std::byte> bytes(size);
  if (auto got = read(bytes); !got) return fail(std::move(got.error()));
  return decode_notice(bytes);
}

Result<void> Door::write_connections(std::span<const SocketPair> pairs) {
  const auto count = static_cast<std::uint16_t>(std::min(pairs.size(), largest_list));
  if (auto written = write(bytes_of(count)); !written) return written;
  for (const SocketPair& pair : pairs.first(count))
    if (auto written = write(bytes_of(pair)); !written) return written;
  return {};
}

Result<std::vector<SocketPair>> Door::read_connections() {
  static_assert(sizeof(SocketPair) == 36 && std::is_trivially_copyable_v<SocketPair>);
  std::uint16_t count = 0;
  if (auto read_count = read(writable_bytes_of(count)); !read_count)
    return fail(std::move(read_count.error()));
  if (count > largest_list) return fail(ErrorCode::bad_request, "too many connections");
  std::vector<SocketPair> pairs(count);
  for (SocketPair& pair : pairs)
    if (auto got = read(writable_bytes_of(pair)); !got) return fail(std::move(got.error()));
  return pairs;
}

namespace {

/// Both ends say that they are where they are now. UCX goes on meanwhile: the peer may need it.
Result<void> meet(Door& door, UcxLink& link) {
  std::byte sign{1};
  if (auto written = door.write(bytes_of(sign)); !written) return written;
  while (!door.readable()) {
    link.progress_or_yield();
    if (link.failure()) return fail(*link.failure());
    if (std::chrono::steady_clock::now() > door.deadline())
      return fail(ErrorCode::timed_out, "the other host did not complete the connection in time");
  }
  return door.read(writable_bytes_of(sign));
}

}  // namespace

Result<OpenLink> open_link(UcxContext& context, const ConnectionKey& key, const Door& door) {
  const std::lock_guard lock(context.state().making_worker());
  // Before UCX listens: strangers are to find the way shut as soon as can be.
  std::vector<HostAddress> own = own_addresses();
  std::vector<HostAddress> peers = door.peer_addresses(own);
  auto doors = Doors::watch();
  if (!doors) return fail(std::move(doors.error()));
  auto link = UcxLink::create(context, key);
  if (!link) return fail(std::move(link.error()));
  if (auto opened = doors->opened((*link)->address()); !opened)
    return fail(std::move(opened.error()));
  doors->admit(peers);
  // The peer does not know the ports yet: whoever has come before that is a stranger.
  if (auto cut = doors->cut_strangers({}); !cut) return fail(std::move(cut.error()));
  return OpenLink{std::move(*link), std::move(*doors), std::move(own), std::move(peers)};
}

Result<Notice> meet_peer(Door& door, const OpenLink& open) {
  auto peer = door.read_notice();
  if (!peer) return peer;
  auto sources = open.peers;
  sources.insert(sources.end(), peer->sources.begin(), peer->sources.end());
  open.doors.admit(sources);
  return peer;
}

Notice notice_of(const OpenLink& open) {
  return {open.doors.ports(), open.own, open.link->address()};
}

Result<void> wire_up(Door& door, UcxLink& link, const Doors& doors, const Notice& peer) {
  if (auto connected = link.connect(peer.address); !connected) return connected;
  if (auto completed = link.complete(door.deadline()); !completed) return completed;
  if (auto met = meet(door, link); !met) return met;
  if (auto closed = doors.close(); !closed) return closed;
  auto ours = doors.connections(peer.ports);
  if (!ours) return fail(std::move(ours.error()));
  if (auto written = door.write_connections(*ours); !written) return written;
  auto theirs = door.read_connections();
  if (!theirs) return fail(std::move(theirs.error()));
  if (auto cut = doors.cut_strangers(*theirs); !cut) return cut;
  // Without UCX: the client's first call may come now.
  std::byte done{1};
  if (auto written = door.write(bytes_of(done)); !written) return written;
  if (auto read = door.read(writable_bytes_of(done)); !read) return read;
  // Once more: UCX's thread may have been accepting somebody when the door was closed.
  return doors.cut_strangers(*theirs);
}

}  // namespace orchid::transport
