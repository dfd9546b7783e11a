// tcp_silence.h: how a TCP connection notices that the other host has vanished.
#pragma once
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace orchid::transport {

/// A host that vanishes says nothing: so its silence is noticed, of an idle connection by probes,
/// of one with bytes under way by their missing acknowledgement, both within six seconds. The
/// socket fails with ETIMEDOUT then.
inline void end_when_silent(int socket) {
  constexpr int idle_before_probe_s = 2;
  constexpr int probe_interval_s = 1;
  constexpr int probes = 4;
  constexpr unsigned longest_silence_ms = 6'000;
  const auto set = [socket](int level, int option, auto value) {
    (void)::setsockopt(socket, level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, idle_before_probe_s);
  set(IPPROTO_TCP, TCP_KEEPINTVL, probe_interval_s);
  set(IPPROTO_TCP, TCP_KEEPCNT, probes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, longest_silence_ms);
}

}  // namespace orchid::transport
