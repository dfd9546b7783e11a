// victims.h: workers and clients that a stranger is let loose on, and how to see what he did.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "foundation/tcp.h"
#include "ucx_lane_fixture.h"

namespace orchid::transport::tests {

/// At the same address in all our processes, which are forks of one: where a stranger writes to.
extern std::array<char, 64> canary;
constexpr const char* unhurt = "untouched";
/// Asks that process, not our own copy.
[[nodiscard]] std::string canary_of(pid_t process);
/// It has ended by itself, not by a signal; waits for it for 30 s.
[[nodiscard]] bool has_left(const Child& process);

[[nodiscard]] int port_of(const Child& worker);
/// Waits until UCX listens in that process too, whose own port is `door`; 0 after ten seconds.
[[nodiscard]] int ucx_port_of(pid_t process, int door);

/// Calls of several sizes come back as they went.
void check_lane(UcxLaneClient& client);
/// A client's life. It ends only if a call goes wrong.
void call_for_ever(const Child::Job& job);
/// Whether it has got an answer since it was asked, within ten seconds.
[[nodiscard]] bool goes_on(const Child& client);
/// The life of a process in which UCX listens, and reads whatever comes: what a worker's would be
/// without its doors.
void read_everything(const Child::Job& job);

/// Connects to a port of this host without waiting for it.
[[nodiscard]] UniqueFd connect_quietly(int port);
/// The peer has hung up, or never answered the connection.
[[nodiscard]] bool is_cut(int socket);

/// What may stand for an id, an address, a length or a key: one of UCP's ids that is a pointer
/// (even) to our canary, one that is a number (odd), nothing, and all there is.
[[nodiscard]] std::array<std::uint64_t, 5> forged_words();

/// Between a client and a worker's door: a network that brings the hello (of a member: all that
/// comes before its notice) at once, and what the client says behind it when it is told to.
/// Meanwhile the worker's UCX listens.
class SlowRelay {
 public:
  /// `at_once`: how many bytes of the client that is.
  explicit SlowRelay(int door, std::size_t at_once = 32);
  [[nodiscard]] const std::string& address() const { return listener_.address; }
  void let_go() { held_ = false; }

 private:
  void run(const std::stop_token& stop, int door, std::size_t at_once);

  TcpListener listener_;
  std::atomic<bool> held_ = true;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace orchid::transport::tests
