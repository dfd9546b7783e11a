// ucx/doors.h: the TCP sockets that UCX opens in this process: found, and shut to everybody but the
// peer.
//
// UCX's TCP transport listens on every interface, trusts whoever connects, and has no call that
// ends that.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "foundation/result.h"
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

/// Belongs to the thread of its lane, which makes and closes it.
class Doors {
 public:
  /// Before the UCX worker is made.
  [[nodiscard]] static Result<Doors> watch();
  /// After it: the sockets that listen since then, and whose port is in the worker's address.
  [[nodiscard]] Result<void> opened(std::span<const std::byte> worker_address);

  /// From now on nobody else reaches them, where the kernel lets us, but for whoever has been in
  /// already: `cut_strangers`. A later call replaces the list.
  void admit(std::span<const HostAddress> sources) const;

  [[nodiscard]] std::vector<std::uint16_t> ports() const;
  /// The connections that came in through our doors, or go to one of the peer's ports. From now on
  /// they fail when the other host falls silent.
  [[nodiscard]] Result<std::vector<SocketPair>> connections(
      std::span<const std::uint16_t> peer_ports) const;
  /// Puts a descriptor that nothing ever happens to in the place of each listening socket.
  [[nodiscard]] Result<void> close() const;
  /// Ends all connections that came in through our doors, but for those that the peer calls its
  /// own.
  [[nodiscard]] Result<void> cut_strangers(std::span<const SocketPair> peers) const;

 private:
  std::vector<TcpSocket> before_;
  std::vector<TcpSocket> doors_;
};

}  // namespace orchid::transport
