// benchmarks/raw_round.h: a round of the rival between two hosts: raw UCX active messages over TCP.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "foundation/result.h"
#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "network_pair.h"
#include "raw_ucx.h"

namespace orchid::bench {

constexpr const char* transports_between_hosts = "tcp,self";  // UCX_TLS

struct RawRound {
  std::size_t size = 0;  // bytes of a message
  int times = 1;         // in the round; a tenth as many, and one, go before
  int server_core = -1;
  bool sleeps = false;     // arm and poll instead of spinning
  bool is_echo = false;    // false: one byte answers
  std::size_t window = 1;  // messages under way; more: the round has one value, for each of them
};
/// Microseconds of each message, until its answer. Both ends are started anew: one that spins
/// beside what is measured next would be measured with it.
[[nodiscard]] Result<std::vector<double>> raw_round(const NetworkPair& network,
                                                    const RawRound& what, const TickRate& rate);

/// Of a comparison with it.
[[nodiscard]] Description raw_messages(const Bench& bench);

}  // namespace orchid::bench
