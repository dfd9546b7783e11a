#include "raw_round.h"

#include <string>

#include "timed_calls.h"

namespace orchid::bench {

Result<std::vector<double>> raw_round(const NetworkPair& network, const RawRound& what,
                                      const TickRate& rate) {
  auto raw = RawUcxEcho::start({.transports = transports_between_hosts,
                                .server_core = what.server_core,
                                .largest = what.size,
                                .devices = NetworkPair::device,
                                .server_namespace = network.far_namespace(),
                                .sleeps = what.sleeps,
                                .one_way = !what.is_echo});
  if (!raw) return fail(std::move(raw.error()));
  if (what.window == 1)
    return warm_calls(what.times, rate, [&] { return raw->round_trip(what.size); });
  const auto stream = [&](int times) { return raw->stream(times, what.window, what.size); };
  return timed_stream(what.times, rate, stream);
}

Description raw_messages(const Bench& bench) {
  return {"raw UCX active messages", bench.command_line(),
          std::string("UCX_TLS=") + transports_between_hosts};
}

}  // namespace orchid::bench
