// How fast hosts are, learned from calls of one node on several of them, and who goes by it.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "flow/transfer.h"
#include "flow/tuner.h"
#include "flow_under_test.h"

namespace orchid::flow::host_speeds_tests {
namespace {

using Seconds = std::chrono::duration<double>;

/// A flow whose calls run one after the other, on hosts that are made up.
class HostsInTurn {
 public:
  struct Run {
    const StartCall& call;
    std::size_t host = 0;
    unsigned number = 0;  // of all calls, from 0
  };
  struct Way {
    std::function<double(const Run&)> seconds;
    std::function<Answered(const StartCall&)> answer = answer_to;
    std::function<std::size_t(const StartCall&)> host{};  // none: each host in turn
  };
  HostsInTurn(Plan plan, std::vector<Value> inputs, std::vector<HostSituation> hosts)
      : plan_(std::move(plan)),
        engine_(Engine::start(plan_, std::move(inputs), {.window = 8}).value()),
        hosts_(std::move(hosts)),
        tuner_(plan_, {}) {
    tuner_.set_hosts(hosts_);
  }

  void run(unsigned calls, const Way& way) {
    tell(Tick{});
    for (; calls != 0 && !open_.empty(); --calls) {
      const StartCall call = std::move(open_.front());
      open_.erase(open_.begin());
      const std::size_t host = way.host ? way.host(call) : number_ % hosts_.size();
      Answered answered = way.answer(call);
      answered.host = hosts_[host].name;
      answered.run_time = std::chrono::duration_cast<Time>(
          Seconds(way.seconds({.call = call, .host = host, .number = number_})));
      ++number_;
      tell(std::move(answered));
    }
    REQUIRE(calls == 0);
  }

  [[nodiscard]] Situation situation() const {
    return tuner_.situation(engine_, {.workers = 8, .window = 8});
  }
  [[nodiscard]] std::vector<double> speeds() const {
    std::vector<double> all;
    for (const HostSituation& host : situation().hosts) all.push_back(host.speed);
    return all;
  }

 private:
  void tell(Event event) {
    tuner_.see(event, Time{});
    for (Action& action : engine_.apply(std::move(event), Time{})) {
      tuner_.see(action, Time{});
      if (auto* start = std::get_if<StartCall>(&action)) open_.push_back(std::move(*start));
    }
  }

  Plan plan_;
  Engine engine_;
  std::vector<HostSituation> hosts_;
  Tuner tuner_;
  std::vector<StartCall> open_;
  unsigned number_ = 0;
};

Plan map_plan() {
  return plan_of("flow: hosts\n" + functions_section() +
                 "inputs: {n: u64}\n"
                 "nodes:\n"
                 "  work: {kind: map, takes: [n], partition: {function: count, takes: [n]}, each: "
                 "twice}\n"
                 "edges: [{from: n, to: work.n}]\n"
                 "outputs: {list: work}\n");
}

HostSituation host(const std::string& name, std::uint32_t cores = 4) {
  return {.name = name, .kind = "cpu", .cores = cores, .cores_free = cores};
}

HostsInTurn map_on(std::vector<HostSituation> hosts) {
  return {map_plan(), {value("u64", "500")}, std::move(hosts)};
}

constexpr unsigned learned = 201;  // calls, with the partition
const std::vector<double> unlike{4, 1, 1};

double on_unlike(const HostsInTurn::Run& run) { return 0.01 / unlike[run.host]; }

}  // namespace

TEST_CASE("hosts: their speeds are learned from calls of one node, and their mean is 1") {
  HostsInTurn flow = map_on({host("a"), host("b"), host("c")});
  CHECK(flow.speeds() == std::vector<double>{1, 1, 1});
  flow.run(learned, {.seconds = on_unlike});
  CHECK(flow.speeds()[0] == doctest::Approx(2).epsilon(0.02));
  CHECK(flow.speeds()[1] == doctest::Approx(0.5).epsilon(0.02));
  CHECK(flow.speeds()[2] == doctest::Approx(0.5).epsilon(0.02));
}

TEST_CASE("hosts: pieces that become a hundred times longer slow no host down") {
  HostsInTurn flow = map_on({host("a"), host("b")});
  flow.run(learned, {.seconds = [](const HostsInTurn::Run& run) {
             return 1e-4 * std::pow(100, run.number / 200.0) / (run.host == 0 ? 1 : 0.25);
           }});
  CHECK(flow.speeds()[0] == doctest::Approx(1.6).epsilon(0.1));
  CHECK(flow.speeds()[1] == doctest::Approx(0.4).epsilon(0.1));
}

TEST_CASE("hosts: nothing is learned of one host alone, of few calls, or of unlike nodes") {
  HostsInTurn alone = map_on({host("a")});
  alone.run(learned, {.seconds = [](const auto& run) { return run.number < 100 ? 1e-3 : 1e-2; }});
  CHECK(alone.speeds() == std::vector<double>{1});
  HostsInTurn few = map_on({host("a"), host("b")});
  few.run(5, {.seconds = [](const auto& run) { return run.host == 0 ? 1e-3 : 1e-2; }});
  CHECK(few.speeds() == std::vector<double>{1, 1});
  // Each of two nodes has its own host, where its pieces are: one has pieces that are longer.
  HostsInTurn apart(
      plan_of("flow: apart\n" + functions_section() +
              "inputs: {list: span<u64>}\n"
              "nodes: {long: {kind: map, each: twice}, short: {kind: map, each: twice}}\n"
              "edges: [{from: list, to: long}, {from: list, to: short}]\n"
              "outputs: {long: long, short: short}\n"),
      {value("span<u64>", "[1,2,3,4,5,6,7,8,9]")}, {host("a"), host("b")});
  apart.run(18, {.seconds = [](const auto& run) { return run.host == 0 ? 1e-3 : 1e-2; },
                 .host = [](const StartCall& call) { return call.node; }});
  CHECK(apart.speeds() == std::vector<double>{1, 1});
}

TEST_CASE("hosts: batches of steps last as long as their budget: their steps are compared") {
  HostsInTurn flow(plan_of(batches_of_steps()), {value("u64", "0")}, {host("a"), host("b")});
  unsigned batches = 0;
  flow.run(40, {.seconds = [](const auto&) { return 1.0; },
                .answer =
                    [&](const StartCall& call) {
                      return answer_of_batch(call, batches++ % 2 == 0 ? 300 : 100);
                    }});
  CHECK(flow.speeds()[0] == doctest::Approx(1.5).epsilon(0.05));
  CHECK(flow.speeds()[1] == doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("hosts: speed reckons that a call ends first on the quicker host") {
  HostsInTurn flow = map_on({host("slow"), host("quick")});
  const std::vector<ObjectSituation> data{
      {.id = {}, .bytes = 1'000'000, .hosts = {"slow", "quick"}}};
  const auto first_end = [&] {
    return first_end_of({.data = data, .run_seconds = 1}, flow.situation().hosts).host;
  };
  CHECK(first_end() == "slow");  // nothing is known: the first
  flow.run(learned, {.seconds = [](const auto& run) { return run.host == 0 ? 0.04 : 0.01; }});
  CHECK(first_end() == "quick");
}

TEST_CASE("hosts: power gives its watts to the quicker host, and says so") {
  HostsInTurn flow = map_on({host("quick", 2), host("slow", 8)});
  const auto decide = [&] {
    Situation situation = flow.situation();
    for (HostSituation& one : situation.hosts) one.watts = 100;
    return make_optimiser({.name = "power", .options = {{"watts", "150"}}})
        ->decide(situation)
        .value();
  };
  CHECK(decide().open_calls == 8);  // one of the two may work: the one with more cores
  flow.run(learned, {.seconds = [](const auto& run) { return run.host == 0 ? 0.001 : 0.01; }});
  const Decided decided = decide();
  CHECK(decided.open_calls == 2);
  REQUIRE_FALSE(decided.nodes.empty());
  CHECK(decided.nodes[0].why ==
        "power: 2 calls at once within 150 W, by what hosts report; speeds: quick 1.8, slow 0.18");
}

}  // namespace orchid::flow::host_speeds_tests
