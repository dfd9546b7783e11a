// transport/secure_channel.h: packets of text and files between processes of different hosts, over
// TLS 1.3 with a secret that both ends have (docs/PROTOCOL.md §3).
//
// It carries what a lane socket carries within a host. A file is sent as its content and arrives as
// a sealed memory file. The secret itself never travels; who does not have it learns nothing and is
// heard by nobody.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "foundation/sockets.h"
#include "foundation/unique_fd.h"

namespace orchid::transport {

/// Owned by one thread. Never blocks, but for `connect`.
class SecureChannel {
 public:
  /// The secret of whoever calls himself so, as 64 hexadecimal digits; nothing: nobody does.
  using FindSecret = std::function<std::optional<std::string>(std::string_view identity)>;

  struct Peer {
    std::string address;   // "host:port", "[::1]:port"
    std::string identity;  // at most 127 bytes
    std::string secret;    // 64 hexadecimal digits; never logged
  };
  /// Connects, and begins to greet: who does not share the secret is noticed by `receive`. Errors:
  /// `unreachable`, `timed_out`, `bad_request` (not such an address).
  [[nodiscard]] static Result<SecureChannel> connect(
      const Peer& peer, std::chrono::steady_clock::time_point deadline);
  /// The accepting end of `socket`, which is made non-blocking.
  [[nodiscard]] static Result<SecureChannel> accept(UniqueFd socket, FindSecret find_secret);

  SecureChannel(SecureChannel&& other) noexcept;
  SecureChannel& operator=(SecureChannel&& other) noexcept;
  ~SecureChannel();

  /// Who the peer has proved to be; empty while they still greet each other. Of an accepting end.
  [[nodiscard]] const std::string& identity() const;

  /// Queues a packet with at most one file (a sealed memory file of at most 64 MiB) and sends what
  /// can be sent now. Errors: `too_large`; `unreachable`: the peer has gone, or lets more than
  /// 256 MiB pile up.
  [[nodiscard]] Result<void> send(std::string_view text, const std::vector<int>& files = {});
  /// The next packet, or nothing if none is complete; also goes on with what waits to be sent.
  /// Errors: `denied` (no common secret), `unreachable` (the peer has gone), `bad_request`.
  [[nodiscard]] Result<std::optional<Packet>> receive();

  /// It has failed because the peer has closed it or died. False also when nothing came from there
  /// for too long, or nonsense, or when this end has failed.
  [[nodiscard]] bool has_hung_up() const;

  /// For poll: readable, and writable too while `wants_to_write`.
  [[nodiscard]] int descriptor() const;
  [[nodiscard]] bool wants_to_write() const;

 private:
  class State;
  explicit SecureChannel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace orchid::transport
