// ucx/hello.h: what the two ends say to each other on a plain TCP socket before there is a lane
// (docs/PROTOCOL.md).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "transport/ucx_lane.h"
#include "ucx/doors.h"
#include "ucx/frame.h"
#include "ucx/link.h"

namespace orchid::transport {

/// What a connection is for.
using HelloMagic = std::array<char, 8>;
constexpr HelloMagic hello_magic{'O', 'R', 'C', 'H', 'L', 'A', 'N', 'E'};     // calls
constexpr HelloMagic transfer_magic{'O', 'R', 'C', 'H', 'D', 'A', 'T', 'A'};  // an object's bytes
constexpr HelloMagic crew_magic{'O', 'R', 'C', 'H', 'C', 'R', 'E', 'W'};      // members of a crew
constexpr std::size_t largest_notice = 16 * 1024;

/// Client to worker, first and at once: both ends start their UCX then, side by side. All integers
/// of this file are little-endian.
struct Hello {
  HelloMagic magic = hello_magic;
  std::uint16_t version = lane_version;
  std::array<std::uint16_t, 3> reserved{};
  ConnectionKey key{};  // of members of crews see crew_greeting.h: not the key
};
static_assert(sizeof(Hello) == 32);

/// Worker to client, to a hello with the right key.
struct Welcome {
  HelloMagic magic = hello_magic;
  std::uint16_t version =
      lane_version;  // the worker's; nothing follows when it is not the client's
  std::array<std::uint16_t, 3> reserved{};
  std::uint64_t request_bytes = 0;
  std::uint64_t response_bytes = 0;
};
static_assert(sizeof(Welcome) == 32);

/// Where to reach an end's UCX: the ports where it takes connections (a client's takes none), then
/// its worker address. Each end sends its own behind its hello or welcome, with its length in 4
/// bytes before it.
struct Notice {
  std::vector<std::uint16_t> ports;
  std::vector<std::byte> address;
};
[[nodiscard]] std::vector<std::byte> encode(const Notice& notice);  // without the length
/// Errors: `bad_request`.
[[nodiscard]] Result<Notice> decode_notice(std::span<const std::byte> bytes);

/// A connected, non-blocking socket. Each wait ends at the deadline.
class Door {
 public:
  /// `stop`: a descriptor; when it becomes readable, each wait ends with `cancelled`.
  Door(UniqueFd socket, LaneDeadline deadline, int stop = -1)
      : socket_(std::move(socket)), deadline_(deadline), stop_(stop) {}
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> read(std::span<std::byte> bytes);
  /// Whether `read` would not wait.
  [[nodiscard]] bool readable() const;
  [[nodiscard]] Result<void> write_notice(const Notice& notice);
  [[nodiscard]] Result<Notice> read_notice();
  /// The connections that the client's UCX makes; the worker's reads from these alone.
  [[nodiscard]] Result<void> write_connections(std::span<const SocketPair> pairs);
  [[nodiscard]] Result<std::vector<SocketPair>> read_connections();
  [[nodiscard]] LaneDeadline deadline() const { return deadline_; }

 private:
  [[nodiscard]] Result<void> wait(short events);
  UniqueFd socket_;
  LaneDeadline deadline_;
  int stop_;
};

/// A UCX worker, and the doors that came with it: not to be progressed before they are shut.
struct OpenLink {
  std::unique_ptr<UcxLink> link;
  Doors doors;
};
[[nodiscard]] Result<OpenLink> open_link(UcxContext& context, const ConnectionKey& key);

/// From the worker's notice to a link that is complete in both directions. Errors: `unreachable`,
/// `timed_out`, `bad_request`.
[[nodiscard]] Result<void> wire_up_client(Door& door, const OpenLink& open, const Notice& worker,
                                          bool over_tcp);
/// The same from the client's notice on. Nobody but the client reaches UCX, at any time.
[[nodiscard]] Result<void> wire_up_worker(Door& door, const OpenLink& open, const Notice& client);

/// The accepting end's part after the hello, until the link is complete: only now does UCX listen,
/// until its client has connected. Errors: `unreachable`, `timed_out`, `bad_request`.
[[nodiscard]] Result<std::unique_ptr<UcxLink>> accept_link(UcxContext& context,
                                                           const ConnectionKey& key, Door& door,
                                                           const Welcome& welcome);

/// The other end's answer to our hello. Errors: as of `Door::read`; `bad_request` (another magic),
/// `unsupported` (another version).
[[nodiscard]] Result<Welcome> read_welcome(Door& door, const HelloMagic& magic,
                                           std::uint16_t version);

struct Greeting {
  std::string address;  // with a host
  HelloMagic magic = hello_magic;
  ConnectionKey key{};
  LaneDeadline deadline;
};
/// The connecting end, from the hello until the link is complete. `judge` is asked about the
/// welcome of an end with the right magic and version. Errors: as of `accept_link` and `judge`;
/// `unsupported` (another version).
[[nodiscard]] Result<std::unique_ptr<UcxLink>> connect_link(
    UcxContext& context, const Greeting& greeting,
    const std::function<Result<void>(const Welcome&)>& judge);

template <typename T>
[[nodiscard]] std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename T>
[[nodiscard]] std::span<std::byte> writable_bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace orchid::transport
