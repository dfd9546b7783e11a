// benchmarks/crew_forward.cpp: what does a hop between hosts cost a crew, against raw UCX?
//
// N members have a table between them, in which each entry names one of another member. Process 0
// begins chases through it, by requests of 24 bytes, and gets their results. All are processes in
// network namespaces of their own, on one bridge; each has one UCX worker for all its peers. With
// two members each of these has a core for itself and spins; with more they take turns on two cores
// (sched_yield), the odd ones on the first. Process 0 sleeps meanwhile, on the first core. Only
// where it does each step itself ("fetch", "ucp_get") it has the first core, and the members share
// the second one.
#include <cstdio>

#include "crew/turns.h"
#include "harness/machine.h"

namespace orchid::bench {
namespace {

constexpr const char* transports = "tcp,self";
constexpr unsigned most_members = 8;

CrewPlan forwarding(ChaseWay way, unsigned members, const tests::HostNamespaces& hosts,
                    const std::vector<int>& cores) {
  return {.way = way,
          .members = members,
          .transports = transports,
          .hosts = &hosts,
          .waiting = members == 2 ? Waiting::spin : Waiting::yield,
          .cores = {cores[0], cores[0], cores[1]}};
}

/// Process 0 does each step.
CrewPlan stepping(ChaseWay way, unsigned members, const tests::HostNamespaces& hosts,
                  const std::vector<int>& cores) {
  return {.way = way,
          .members = members,
          .transports = transports,
          .hosts = &hosts,
          .waiting = Waiting::yield,
          .beginner = Waiting::spin,
          .cores = {cores[0], cores[1]}};
}

void compare_depths(Bench& bench, unsigned members, const tests::HostNamespaces& hosts,
                    const std::vector<int>& cores) {
  CrewTurns turns(bench, std::to_string(members) + " members",
                  {{"raw UCX, handlers forward", forwarding(ChaseWay::raw, members, hosts, cores)},
                   {"crew", forwarding(ChaseWay::judged, members, hosts, cores), true},
                   {"crew that sends together what goes to one member",
                    forwarding(ChaseWay::batched, members, hosts, cores)},
                   {"fetch each step", stepping(ChaseWay::fetch, members, hosts, cores)}});
  for (const std::uint64_t depth : {1, 4, 16, 64, 256, 1024, 4096})
    turns.chase(round_of(depth, 1, depth < 16 ? 256 : 1024));
  for (const std::uint64_t depth : {16, 256, 1024}) turns.chase(round_of(depth, 16, 4096));
}

/// What is reported once: members in their sandbox, members that sleep, other ways of UCX.
void compare_ways(Bench& bench, const tests::HostNamespaces& hosts, const std::vector<int>& cores) {
  const auto plan = [&](ChaseWay way) { return forwarding(way, 2, hosts, cores); };
  CrewPlan confined = plan(ChaseWay::judged);
  confined.confined = true;
  CrewPlan mailbox = plan(ChaseWay::mailbox);
  mailbox.waiting = mailbox.beginner = Waiting::yield;  // memory that changes wakes nobody
  {
    CrewTurns turns(
        bench, "2 members",
        {{"raw UCX, handlers forward", plan(ChaseWay::raw)}, {"confined crew", confined, true}});
    for (const unsigned in_flight : {1U, 16U}) turns.chase(round_of(1024, in_flight, 4096));
  }
  {
    CrewPlan raw = plan(ChaseWay::raw);
    CrewPlan crew = plan(ChaseWay::judged);
    raw.waiting = crew.waiting = Waiting::sleep;
    CrewTurns turns(bench, "2 members that sleep",
                    {{"raw UCX, handlers forward", raw}, {"crew", crew, true}});
    for (const unsigned in_flight : {1U, 16U}) turns.chase(round_of(256, in_flight, 2048));
  }
  CrewTurns turns(bench, "2 members",
                  {{"raw UCX, handlers forward", plan(ChaseWay::raw)},
                   {"ucp_get", stepping(ChaseWay::get, 2, hosts, cores)},
                   {"put into mailboxes", mailbox}});
  turns.chase(round_of(16, 1, 16));
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("crew_forward needs two cores\n", stderr);
    return 3;
  }
  const auto hosts = tests::HostNamespaces::create(most_members + 1);
  if (!hosts) {
    std::fprintf(stderr, "crew_forward: %s\n", hosts.error().message.c_str());
    return 3;
  }
  for (const unsigned members : {2U, 4U, most_members})
    compare_depths(bench, members, *hosts, cores);
  compare_ways(bench, *hosts, cores);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("crew_forward", argc, argv);
  return orchid::bench::run(bench);
}
