// ucx/doors.h: the TCP sockets that UCX opens in this process: found, and shut before it reads a
// byte of anybody but the peer.
//
// UCX's TCP transport listens, trusts whoever connects, and has no call that ends that. But it only
// accepts by itself, in a thread of its own; what a connection brings it reads in `progress` alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "foundation/result.h"
#include "transport/ucx_lane.h"
#include "ucx/interfaces.h"

namespace orchid::transport {

/// A connection as one end sees it.
struct SocketPair {
  SocketName local;
  SocketName remote;
  friend bool operator==(const SocketPair&, const SocketPair&) = default;
};

struct TcpSocket {
  int fd = -1;
  std::uint64_t inode = 0;
  bool listens = false;
  SocketPair names;  // remote: of a connected one only
};
/// Of this process, by /proc/self/fd. Errors: `system`.
[[nodiscard]] Result<std::vector<TcpSocket>> tcp_sockets();

/// The other end has closed it in good order, and all that it had sent was read. A connection that
/// has broken has no such end.
[[nodiscard]] bool was_read_to_its_end(int connection);

/// Belongs to the thread of its lane, which makes and closes it. Until `shut` has been called, the
/// lane's UCX worker must not be progressed.
class Doors {
 public:
  enum class Peers : std::uint8_t {
    read,     // at any time: one that takes nothing is gone
    compute,  // and take nothing meanwhile
  };
  /// Before the UCX worker is made.
  [[nodiscard]] static Result<Doors> watch(Peers peers = Peers::read);
  /// After it: the sockets that listen since then, and whose port is in the worker's address.
  [[nodiscard]] Result<void> opened(std::span<const std::byte> worker_address);
  [[nodiscard]] std::vector<std::uint16_t> ports() const;

  /// Waits until the connections that the peer calls its own have come in, then lets nobody else in
  /// and ends whatever else has come: what it has sent is never read. Errors: `timed_out`, also
  /// when strangers come too fast for the door to be closed; `cancelled`: `stop`, a descriptor,
  /// became readable.
  [[nodiscard]] Result<void> shut(std::span<const SocketPair> peers, LaneDeadline deadline,
                                  int stop = -1) const;

  /// Those of this process that go to one of the peer's ports, and are younger than `watch`.
  [[nodiscard]] Result<std::vector<TcpSocket>> connections_to(
      std::span<const std::uint16_t> ports) const;
  /// The same of those that are not among `known`: other peers may have the same ports.
  [[nodiscard]] Result<std::vector<TcpSocket>> connections_to(
      std::span<const std::uint16_t> ports, std::span<const TcpSocket> known) const;

 private:
  [[nodiscard]] Result<void> close(LaneDeadline deadline, int stop) const;
  [[nodiscard]] Result<void> cut_strangers(std::span<const SocketPair> peers) const;
  void make_ours(const TcpSocket& connection) const;

  Peers peers_ = Peers::read;
  std::vector<TcpSocket> before_;  // whatever port they have: they are none of UCX's
  std::vector<TcpSocket> doors_;
};

}  // namespace orchid::transport
