// benchmarks/crew_forward_local.cpp: what does a hop on one host cost a crew, against raw UCX?
//
// As benchmarks/crew_forward.cpp, without namespaces. Two members, each spinning on a core of its
// own; process 0 sleeps on the first one's core while they work.
#include <cstdio>

#include "crew/turns.h"
#include "harness/machine.h"

namespace orchid::bench {
namespace {

constexpr const char* transports = "posix,self";

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("crew_forward_local needs two cores\n", stderr);
    return 3;
  }
  for (const unsigned members : {2U, 4U}) {
    const auto plan = [&](ChaseWay way) {
      return CrewPlan{.way = way,
                      .members = members,
                      .transports = transports,
                      .waiting = members == 2 ? Waiting::spin : Waiting::yield,
                      .cores = {cores[0], cores[0], cores[1]}};
    };
    CrewTurns turns(bench, std::to_string(members) + " members",
                    {{"raw UCX, handlers forward", plan(ChaseWay::raw)},
                     {"crew, rings", plan(ChaseWay::ring), true},
                     {"crew over UCX", plan(ChaseWay::judged)},
                     {"lanes as they are", plan(ChaseWay::lanes)}});
    for (const std::uint64_t depth : {1, 4, 16, 64, 256, 1024, 4096})
      turns.chase(round_of(depth, 1, depth < 256 ? 1024 : 16384));
    for (const std::uint64_t depth : {16, 256, 1024}) turns.chase(round_of(depth, 16, 16384));
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("crew_forward_local", argc, argv);
  return orchid::bench::run(bench);
}
