// Decisions of the optimisers that are ours, over made-up situations.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "flow/optimiser.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

Decided ask(const PlannedOptimiser& planned, const Situation& situation) {
  const auto optimiser = make_optimiser(planned);
  REQUIRE(optimiser != nullptr);
  auto decided = optimiser->decide(situation);
  REQUIRE(decided.has_value());
  return std::move(*decided);
}

Situation map_with_times(double piece_seconds, double overhead_seconds) {
  return {.nodes = {{.node = 3,
                     .name = "work",
                     .kind = NodeKind::map,
                     .function = "f",
                     .pieces_left = 1000,
                     .pieces_total = 1000,
                     .in_runs = true}},
          .hosts = {},
          .times = {{.function = "f",
                     .host_kind = {},
                     .calls = 10,
                     .pieces = 40'000'000,
                     .run_seconds = 4e7 * piece_seconds,
                     .overhead_seconds = overhead_seconds}},
          .workers = 4,
          .window = 8};
}

double speed_of(const std::vector<HostSituation>& hosts, const std::vector<std::uint32_t>& cores) {
  double speed = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) speed += cores[i] * hosts[i].speed;
  return speed;
}

double watts_of(const std::vector<HostSituation>& hosts, const std::vector<std::uint32_t>& cores) {
  double watts = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    if (cores[i] != 0) watts += hosts[i].watts.value_or(0) + cores[i] * hosts[i].watts_per_core;
  return watts;
}

/// Every choice there is.
double best_speed(const std::vector<HostSituation>& hosts, double watts) {
  double best = 0;
  std::vector<std::uint32_t> cores(hosts.size(), 0);
  const std::function<void(std::size_t)> choose = [&](std::size_t host) {
    if (host == hosts.size()) {
      if (watts_of(hosts, cores) <= watts) best = std::max(best, speed_of(hosts, cores));
      return;
    }
    for (cores[host] = 0; cores[host] <= hosts[host].cores_free; ++cores[host]) choose(host + 1);
    cores[host] = 0;
  };
  choose(0);
  return best;
}

/// As KernelHive chose: the best speed for a watt first, all cores of a host or none.
double greedy_speed(const std::vector<HostSituation>& hosts, double watts) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < hosts.size(); ++i) order.push_back(i);
  const auto whole = [&](std::size_t i) {
    return hosts[i].watts.value_or(0) + hosts[i].cores_free * hosts[i].watts_per_core;
  };
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return hosts[a].cores_free * hosts[a].speed / whole(a) >
           hosts[b].cores_free * hosts[b].speed / whole(b);
  });
  double speed = 0;
  for (const std::size_t i : order) {
    if (whole(i) > watts) continue;
    watts -= whole(i);
    speed += hosts[i].cores_free * hosts[i].speed;
  }
  return speed;
}

}  // namespace

TEST_CASE("the way to the end is a node's own time and the longest way behind it") {
  const Plan plan = plan_of("flow: ranks\n" + functions_section() +
                            "inputs: {n: u64}\n"
                            "nodes:\n"
                            "  short: {kind: call, function: twice}\n"
                            "  long: {kind: call, function: thrice}\n"
                            "  steps: {kind: iterate, function: twice, times: 5}\n"
                            "  last: {kind: call, function: next}\n"
                            "edges:\n"
                            "  - {from: n, to: short}\n"
                            "  - {from: n, to: long}\n"
                            "  - {from: long, to: steps}\n"
                            "  - {from: short, to: last.1}\n"
                            "  - {from: steps, to: last.2}\n"
                            "outputs: {r: last}\n");
  RankOptions options{
      .times = {{.function = "twice", .host_kind = {}, .calls = 1, .pieces = 2, .run_seconds = 2},
                {.function = "thrice", .host_kind = {}, .calls = 1, .pieces = 1, .run_seconds = 7}},
      .bytes = {0, 3'000'000'000, 0, 0},
      .pieces = {},
      .unknown_seconds = 0.5};
  const auto at = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(plan.nodes, name, &PlannedNode::name) -
                                    plan.nodes.begin());
  };
  options.bytes.assign(plan.nodes.size(), 0);
  options.bytes[at("long")] = 3'000'000'000;  // three seconds of transfer
  const auto ranks = seconds_to_end(plan, options);
  CHECK(ranks[at("last")] == doctest::Approx(0.5));
  CHECK(ranks[at("short")] == doctest::Approx(1.5));
  CHECK(ranks[at("steps")] == doctest::Approx(5.5));
  CHECK(ranks[at("long")] == doctest::Approx(15.5));
  // Without a bound, an iteration has one more step at least.
  Plan open = plan;
  open.nodes[at("steps")].times = no_bound;
  CHECK(seconds_to_end(open, options)[at("steps")] == doctest::Approx(1.5));
  options.pieces.assign(plan.nodes.size(), 0);
  options.pieces[at("steps")] = 3;
  CHECK(seconds_to_end(open, options)[at("steps")] == doctest::Approx(3.5));
}

TEST_CASE("speed puts the node with the longest way first, and says how long it is") {
  Situation situation;
  situation.nodes.push_back({.node = 4, .name = "a", .function = "f", .seconds_to_end = 0.25});
  situation.nodes.push_back({.node = 7, .name = "b", .function = "f", .seconds_to_end = 2});
  const Decided decided = ask({.name = "speed", .options = {}}, situation);
  REQUIRE(decided.nodes.size() == 2);
  CHECK(decided.nodes[0].priority < decided.nodes[1].priority);
  CHECK(decided.nodes[1].why == "speed: 2 s from here to the end of the flow");
}

TEST_CASE("granularity: the dearer a call and the cheaper a piece, the longer a run") {
  const auto pieces = [](double piece, double overhead) {
    const Decided decided =
        ask({.name = "granularity", .options = {}}, map_with_times(piece, overhead));
    REQUIRE(decided.nodes.size() == 1);
    CHECK(decided.nodes[0].node == 3);
    CHECK(decided.nodes[0].share >= 4);  // no worker has the rest for itself
    return decided.nodes[0].pieces;
  };
  CHECK(pieces(1, 1e-6) == 1);
  CHECK(pieces(1e-3, 1e-3) > pieces(1e-3, 1e-5));
  CHECK(pieces(1e-6, 1e-4) > pieces(1e-3, 1e-4));
  CHECK(pieces(0, 1) <= 1'000'000'000);
}

TEST_CASE("granularity says nothing of what has not run, or takes one piece at a time") {
  Situation situation = map_with_times(1, 1);
  situation.nodes[0].in_runs = false;
  CHECK(ask({.name = "granularity", .options = {}}, situation).nodes.empty());
  situation = map_with_times(1, 1);
  situation.times.clear();
  CHECK(ask({.name = "granularity", .options = {}}, situation).nodes.empty());
}

TEST_CASE("power keeps its bound, and is as fast as the best of all choices") {
  std::mt19937_64 random(11);
  const auto any = [&random](unsigned least, unsigned most) {
    return least + static_cast<unsigned>(random() % (most - least + 1));
  };
  unsigned better = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    std::vector<HostSituation> hosts;
    for (unsigned i = any(1, 4); i > 0; --i) {
      HostSituation& host = hosts.emplace_back();
      host.cores_free = any(1, 6);
      host.speed = any(1, 8) / 4.0;
      host.watts = any(0, 60);
      host.watts_per_core = any(1, 20);
    }
    const double watts = any(5, 200);
    const auto cores = cores_within(hosts, watts);
    REQUIRE(cores.size() == hosts.size());
    for (std::size_t i = 0; i < hosts.size(); ++i) CHECK(cores[i] <= hosts[i].cores_free);
    CHECK(watts_of(hosts, cores) <= watts);
    CHECK(speed_of(hosts, cores) == doctest::Approx(best_speed(hosts, watts)));
    CHECK(speed_of(hosts, cores) + 1e-9 >= greedy_speed(hosts, watts));
    if (speed_of(hosts, cores) > greedy_speed(hosts, watts) + 1e-9) ++better;
  }
  CHECK(better > 50);
}

TEST_CASE("power says whether it goes by reports or by declared watts") {
  Situation situation = map_with_times(1, 1);
  situation.hosts.push_back({.name = "a", .kind = "cpu", .cores = 8, .cores_free = 8});
  situation.hosts[0].watts_per_core = 10;
  const PlannedOptimiser power{.name = "power", .options = {{"watts", "45"}}};
  Decided decided = ask(power, situation);
  CHECK(decided.open_calls == 4U);
  REQUIRE(decided.nodes.size() == 1);
  CHECK(decided.nodes[0].why.find("not all hosts report theirs") != std::string::npos);
  situation.hosts[0].watts = 15;
  decided = ask(power, situation);
  CHECK(decided.open_calls == 3U);
  CHECK(decided.nodes[0].why.find("by what hosts report") != std::string::npos);
  // A host that is drained, and reports nothing, is left out.
  situation.hosts.push_back({.name = "b", .kind = "cpu", .cores = 8, .cores_free = 0});
  decided = ask(power, situation);
  CHECK(decided.open_calls == 3U);
  CHECK(decided.nodes[0].why.find("by what hosts report") != std::string::npos);
  // Where no host has a core free, workers come from elsewhere, or later.
  situation.hosts[0].cores_free = 0;
  decided = ask(power, situation);
  CHECK(decided.open_calls == 8U);
  CHECK(decided.nodes[0].why.find("by declared watts") != std::string::npos);
  situation.hosts.clear();
  CHECK(ask(power, situation).open_calls == 8U);  // no more than 11, and the window
}
