#include "ucx/hello.h"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "foundation/tcp.h"
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
  if (bytes.empty()) return fail(ErrorCode::bad_request, "a notice without an address");
  return Notice{std::move(*ports), {bytes.begin(), bytes.end()}};
}

Result<void> Door::wait(short events) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline_ - std::chrono::steady_clock::now());
    if (left.count() <= 0)
      return fail(ErrorCode::timed_out, "the other host did not answer in time");
    std::array<pollfd, 2> entries{{{socket_.get(), events, 0}, {stop_, POLLIN, 0}}};
    const int ready = ::poll(entries.data(), entries.size(),
                             static_cast<int>(std::min<long>(left.count() + 1, 60'000)));
    if (ready > 0 && entries[1].revents != 0)
      return fail(ErrorCode::cancelled, "told to stop connecting");
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

/// The peer says that its end is complete. UCX goes on meanwhile: the peer may need it for that.
Result<void> wait_until_complete(Door& door, UcxLink& link) {
  while (!door.readable()) {
    link.progress_or_yield();
    if (link.failure()) return fail(*link.failure());
    if (std::chrono::steady_clock::now() > door.deadline())
      return fail(ErrorCode::timed_out, "the other host did not complete the connection in time");
  }
  std::byte sign{};
  return door.read(writable_bytes_of(sign));
}

Result<void> say_complete(Door& door) {
  const std::byte sign{1};
  return door.write(bytes_of(sign));
}

/// UCX makes them when it is told the worker's address; the kernel takes its time. Over verbs it
/// may need none.
Result<std::vector<TcpSocket>> wait_for_connections(const Door& door, const Doors& doors,
                                                    std::span<const std::uint16_t> ports,
                                                    bool over_tcp) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  for (;;) {
    auto made = doors.connections_to(ports);
    if (!made || !made->empty()) return made;
    const auto now = std::chrono::steady_clock::now();
    if (!over_tcp && now > patience) return made;
    if (now > door.deadline())
      return fail(ErrorCode::timed_out, "UCX did not reach the other host in time");
    ::sched_yield();
  }
}

}  // namespace

Result<OpenLink> open_link(UcxContext& context, const ConnectionKey& key) {
  const std::lock_guard lock(context.state().making_worker());
  auto doors = Doors::watch();
  if (!doors) return fail(std::move(doors.error()));
  auto link = UcxLink::create(context, key);
  if (!link) return fail(std::move(link.error()));
  if (auto opened = doors->opened((*link)->address()); !opened)
    return fail(std::move(opened.error()));
  return OpenLink{std::move(*link), std::move(*doors)};
}

Result<void> wire_up_client(Door& door, const OpenLink& open, const Notice& worker, bool over_tcp) {
  UcxLink& link = *open.link;
  if (auto connected = link.connect(worker.address); !connected) return connected;
  auto made = wait_for_connections(door, open.doors, worker.ports, over_tcp);
  if (!made) return fail(std::move(made.error()));
  std::vector<SocketPair> names;
  for (const TcpSocket& connection : *made) names.push_back(connection.names);
  if (auto written = door.write_connections(names); !written) return written;
  if (over_tcp)  // else they are not all that leads to the worker
    if (auto kept = link.keep(*made); !kept) return kept;
  if (auto completed = link.complete(door.deadline()); !completed) return completed;
  if (auto said = say_complete(door); !said) return said;
  return wait_until_complete(door, link);
}

Result<void> wire_up_worker(Door& door, const OpenLink& open, const Notice& client) {
  UcxLink& link = *open.link;
  auto connections = door.read_connections();
  if (!connections) return fail(std::move(connections.error()));
  if (auto shut = open.doors.shut(*connections, door.deadline()); !shut) return shut;
  if (auto there = link.wait_for_peer(door.deadline()); !there) return there;
  if (auto connected = link.connect(client.address); !connected) return connected;
  if (auto completed = link.complete(door.deadline()); !completed) return completed;
  if (auto complete = wait_until_complete(door, link); !complete) return complete;
  return say_complete(door);  // UCX waits from here on: the client's first call may come
}

Result<std::unique_ptr<UcxLink>> accept_link(UcxContext& context, const ConnectionKey& key,
                                             Door& door, const Welcome& welcome) {
  auto open = open_link(context, key);
  if (!open) return fail(std::move(open.error()));
  if (auto sent = door.write(bytes_of(welcome)); !sent) return fail(std::move(sent.error()));
  const Notice notice{open->doors.ports(), open->link->address()};
  if (auto sent = door.write_notice(notice); !sent) return fail(std::move(sent.error()));
  auto client = door.read_notice();
  if (!client) return fail(std::move(client.error()));
  if (auto done = wire_up_worker(door, *open, *client); !done) return fail(std::move(done.error()));
  return std::move(open->link);
}

Result<Welcome> read_welcome(Door& door, const HelloMagic& magic, std::uint16_t version) {
  Welcome welcome;
  if (auto got = door.read(writable_bytes_of(welcome)); !got) return fail(std::move(got.error()));
  if (welcome.magic != magic)
    return fail(ErrorCode::bad_request, "the other end is not one of Orchid's");
  if (welcome.version != version)
    return fail(ErrorCode::unsupported,
                "the other end speaks version " + std::to_string(welcome.version) +
                    " of the lane, this one version " + std::to_string(version));
  return welcome;
}

Result<std::unique_ptr<UcxLink>> connect_link(
    UcxContext& context, const Greeting& greeting,
    const std::function<Result<void>(const Welcome&)>& judge) {
  // Names are the caller's business, and looking them up would open files.
  auto socket = connect_tcp(greeting.address, greeting.deadline, HostNames::refused);
  if (!socket) return fail(std::move(socket.error()));
  Door door(std::move(*socket), greeting.deadline);
  const Hello hello{.magic = greeting.magic, .version = lane_version, .key = greeting.key};
  if (auto sent = door.write(bytes_of(hello)); !sent) return fail(std::move(sent.error()));
  auto open = open_link(context, greeting.key);
  if (!open) return fail(std::move(open.error()));
  // The other end never connects to us, so nobody who does is welcome.
  if (auto shut = open->doors.shut({}, greeting.deadline); !shut)
    return fail(std::move(shut.error()));
  if (auto sent = door.write_notice({{}, open->link->address()}); !sent)
    return fail(std::move(sent.error()));
  auto welcome = read_welcome(door, greeting.magic, lane_version);
  if (!welcome) return fail(std::move(welcome.error()));
  if (auto good = judge(*welcome); !good) return fail(std::move(good.error()));
  auto worker = door.read_notice();
  if (!worker) return fail(std::move(worker.error()));
  if (auto done = wire_up_client(door, *open, *worker, !context.uses_verbs()); !done)
    return fail(std::move(done.error()));
  return std::move(open->link);
}

}  // namespace orchid::transport
