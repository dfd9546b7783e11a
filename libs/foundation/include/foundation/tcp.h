// foundation/tcp.h: listening and connecting over TCP, by "HOST:PORT" or "[IPv6]:PORT".
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid {

/// Digits, of a number up to 65535: the resolver would take larger ones as well, less 65536.
[[nodiscard]] bool is_port(std::string_view text);

struct TcpListener {
  UniqueFd socket;      // non-blocking
  std::string host;     // the IP address
  std::string address;  // "host:port" as others dial it, with the port that was bound
  std::uint16_t port = 0;
};
/// Listens at "127.0.0.1:0" or "[::1]:4711"; port 0: any free one. Errors: `bad_configuration` (no
/// such form, or no address of this host), `system`.
[[nodiscard]] Result<TcpListener> listen_tcp(const std::string& address);

enum class HostNames : std::uint8_t { looked_up, refused };
/// The socket is non-blocking, and sends small packets at once (`send_at_once`). Errors:
/// `bad_request` (no such form, or a name where only numbers are taken), `unreachable`,
/// `timed_out`, `system`.
[[nodiscard]] Result<UniqueFd> connect_tcp(const std::string& address,
                                           std::chrono::steady_clock::time_point deadline,
                                           HostNames names);

/// This host's address at its end of a connection, without the port; empty when it has none.
[[nodiscard]] std::string local_host(int socket);
/// The same of a connection to there that is yet to be made, a "HOST:PORT" of numbers. Sends
/// nothing. Empty: no way leads there.
[[nodiscard]] std::string local_host_towards(const std::string& address);

/// No packet waits for a fuller segment.
void send_at_once(int socket);
/// A connection whose other host vanishes, which says nothing then, fails with ETIMEDOUT after 6 s,
/// also when nothing is under way.
void end_when_silent(int socket);
/// The same of one whose other end may take nothing for long, since it computes: only while nothing
/// is under way. What is sent to a host that has vanished is given up by the kernel, in minutes.
void end_when_silent_and_idle(int socket);

/// Whether this machine has ::1.
[[nodiscard]] bool has_ipv6_loopback();

}  // namespace orchid
