// ucx/guests.h: who knocks at a plain TCP port of ours: let in is the first with the right key.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/tcp.h"
#include "foundation/unique_fd.h"
#include "transport/ucx_lane.h"
#include "ucx/hello.h"

namespace orchid::transport {

/// Waits for one guest, or one for each of several keys. Owned by one thread.
class Guests {
 public:
  /// What it says is the key.
  [[nodiscard]] static bool shows_key(const Hello& hello, const ConnectionKey& key) {
    return same_key(hello.key, key);
  }
  struct Options {
    std::string address;  // an IP address of this host; empty: all of them
    HelloMagic magic = hello_magic;
    std::uint16_t version = lane_version;
    ConnectionKey key{};
    /// Whether a hello is of one who has the key.
    bool (*has_key)(const Hello& hello, const ConnectionKey& key) = shows_key;
    std::chrono::milliseconds hello_timeout{5000};  // for a peer to say who it is
    std::size_t pending_peers = 16;                 // beyond them the longest silent one is cut
  };
  /// Errors: `bad_configuration` (no such address), `system`.
  [[nodiscard]] static Result<Guests> listen(Options options);

  [[nodiscard]] int port() const { return port_; }
  /// "192.0.2.7:40123"; only the port when all addresses are listened on.
  [[nodiscard]] const std::string& address() const { return address_; }
  /// The first one with the right magic, key and version; nobody else is let in then. Not twice.
  /// Errors: `timed_out`; `cancelled` when `stop`, a descriptor, became readable.
  [[nodiscard]] Result<UniqueFd> wait(LaneDeadline deadline, int stop);
  struct Guest {
    UniqueFd socket;
    Hello hello;
  };
  /// The same for several keys, in place of that of the options: one guest for each, in their
  /// order.
  [[nodiscard]] Result<std::vector<Guest>> wait_for_all(std::span<const ConnectionKey> keys,
                                                        LaneDeadline deadline, int stop);

 private:
  /// Somebody who has connected and not yet said everything.
  struct Pending {
    UniqueFd socket;
    LaneDeadline deadline;
    std::array<std::byte, sizeof(Hello)> bytes{};
    std::size_t got = 0;
  };
  Guests(Options options, TcpListener listener);
  /// Who is let in, in the order of their keys.
  struct LetIn {
    std::span<const ConnectionKey> keys;
    std::vector<Guest> guests;
    [[nodiscard]] bool is_complete() const;
  };
  void admit(LetIn& guests);
  void read_hellos(LetIn& guests);
  void check(Pending& pending, LetIn& guests) const;

  Options options_;
  UniqueFd socket_;
  int port_;
  std::string address_;
  std::list<Pending> pending_;  // oldest first
};

}  // namespace orchid::transport
