// benchmarks/remote_in_turn.cpp: what does it cost over HTTP that each function has a process of
// its own, where the workers are another host's?
//
// Eight functions called in turn, whose workers are all kept, against one function called alike;
// and 64 of them, so that each call needs a new worker there. The other host is a network namespace
// behind a bridge, and calls go through orchid-dispatch. Input and output are 5 bytes.
#include <cstdio>
#include <exception>

#include "far_site.h"
#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "turn_functions.h"

namespace orchid::bench {
namespace {

constexpr int all_functions = 64;
constexpr int kept_workers = 8;

int complain(const Failure& why) {
  std::fprintf(stderr, "remote_in_turn: %s\n", why.message.c_str());
  return 3;
}

int measure_far_turns(Bench& bench) {
  auto hosts = tests::HostNamespaces::create(1);
  if (!hosts) return complain(hosts.error());
  auto site = FarSite::start(*hosts);
  if (!site) return complain(site.error());
  const Folder folder;
  Client client = (*site)->client();
  for (int i = 0; i < all_functions; ++i)
    if (auto deployed = deploy(client, folder.path, i); !deployed)
      return complain(deployed.error());
  const TickRate rate = TickRate::measure();
  TurnCalls calls(client, rate);
  if (auto warm = calls(3 * all_functions, all_functions); !warm) return complain(warm.error());
  bench.compare({.row = "a call, eight functions in turn, workers of another host",
                 .unit = "us",
                 .round = [&] { return calls(400, kept_workers); },
                 .baseline = {"one function", bench.command_line(), ""},
                 .baseline_round = [&] { return calls(400, 1); },
                 .promises = {}});
  bench.measure({.row = "a call, 64 functions in turn, each in a new worker of another host",
                 .unit = "us",
                 .round = [&] { return calls(64, all_functions); },
                 .promises = {}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("remote_in_turn", argc, argv);
  try {
    return orchid::bench::measure_far_turns(bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remote_in_turn: %s\n", error.what());
    return 3;
  }
}
