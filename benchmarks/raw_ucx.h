// benchmarks/raw_ucx.h: the rival: UCX active messages between two processes, nothing else. Both
// spin, or both sleep until a message comes.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "foundation/result.h"

namespace orchid::bench {

/// An echo server in a child process, and its client here. Owned by one thread.
class RawUcxEcho {
 public:
  struct Options {
    std::string transports;  // UCX_TLS, such as "posix,self"
    int server_core = -1;
    std::size_t largest = 1 << 20;  // message, in bytes
    std::string devices;            // UCX_NET_DEVICES; empty: all
    int server_namespace = -1;      // NetworkPair::far_namespace; -1: ours
    bool sleeps = false;            // arm and poll instead of spinning
    bool one_way = false;           // the server answers with one byte instead of the message
  };
  [[nodiscard]] static Result<RawUcxEcho> start(const Options& options);
  RawUcxEcho(RawUcxEcho&& other) noexcept;
  ~RawUcxEcho();

  /// Sends `size` bytes and waits until as many have come back.
  [[nodiscard]] Result<void> round_trip(std::size_t size);
  /// Sends `count` messages of `size` bytes, of which at most `window` are unanswered at a time,
  /// and waits for all answers. Small messages only.
  [[nodiscard]] Result<void> stream(int count, std::size_t window, std::size_t size);

 private:
  class Peer;
  RawUcxEcho(std::unique_ptr<Peer> peer, pid_t server);
  std::unique_ptr<Peer> peer_;
  pid_t server_ = -1;
};

}  // namespace orchid::bench
