// Variants of a function: what a document may say of them, that the engine runs what it is told,
// what the tuner learns of them, and what the optimiser `grid` costs against a full search.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/decision_text.h"
#include "flow/kept_variants.h"
#include "flow_under_test.h"
#include "orchid/flow.h"
#include "simulated_workers.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

std::string with_variants(const std::string& variants, const std::string& optimisers = "[grid]") {
  return "flow: f\noptimise: " + optimisers + "\n" + functions_section() +
         "inputs: {list: span<u64>}\n"
         "nodes:\n"
         "  work: {kind: map, each: twice, variants: " +
         variants +
         "}\n"
         "edges: [{from: list, to: work}]\n"
         "outputs: {r: work}\n";
}

Value zeros(unsigned count) {
  std::string text = "[0";
  for (unsigned i = 1; i < count; ++i) text += ",0";
  return value("span<u64>", text + "]");
}

std::vector<std::unique_ptr<Optimiser>> grid(const std::string& other = {}) {
  std::vector<std::unique_ptr<Optimiser>> optimisers;
  if (!other.empty()) optimisers.push_back(make_optimiser({.name = other, .options = {}}));
  optimisers.push_back(make_optimiser({.name = "grid", .options = {}}));
  return optimisers;
}

std::vector<StartCall> starts_of(std::vector<Action> actions) {
  std::vector<StartCall> starts;
  for (Action& action : actions)
    if (auto* start = std::get_if<StartCall>(&action)) starts.push_back(std::move(*start));
  return starts;
}

std::vector<std::string> names_of(const std::vector<StartCall>& starts) {
  std::vector<std::string> names;
  for (const StartCall& start : starts) names.push_back(start.function->function);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a node's variants are in its document, and its plan") {
  const std::string text = with_variants("[thrice, twice_too]");
  const Plan plan = plan_of(text);
  REQUIRE(plan.nodes.size() == 1);
  REQUIRE(plan.nodes[0].variants.size() == 2);
  CHECK(plan.nodes[0].variants[1].function == "twice_too");
  CHECK(plan.nodes[0].chooses_variant);
  CHECK(functions_of(plan).size() == 3);
  CHECK(to_text(plan).find("each twice, or thrice, or twice_too") != std::string::npos);
  const std::string yaml = to_yaml(parse_document(text, "").document);
  CHECK(yaml.find("variants: [thrice, twice_too]") != std::string::npos);
  CHECK(to_yaml(parse_document(yaml, "").document) == yaml);
  CHECK_FALSE(plan_of(with_variants("[thrice]", "[speed]")).nodes[0].chooses_variant);
}

TEST_CASE("wrong variants are told with their place") {
  const auto told = [](const std::string& variants, const std::string& wanted) {
    const std::vector<std::string> lines = faults_of(with_variants(variants));
    REQUIRE_MESSAGE(lines.size() == 1, variants);
    CHECK_MESSAGE(lines[0].find(wanted) != std::string::npos, lines[0]);
  };
  const auto at = [](const std::string& variants, std::string_view part) {
    const std::string text = with_variants(variants);
    std::size_t line = 1;
    std::size_t start = 0;
    const std::size_t place = text.find(part, text.find("variants: "));
    for (std::size_t i = 0; i < place; ++i)
      if (text[i] == '\n') {
        ++line;
        start = i + 1;
      }
    return "f.yaml:" + std::to_string(line) + ":" + std::to_string(place - start + 1) + ": ";
  };
  told("[]", at("[]", "[]") +
                 "'variants' of node 'work' is empty; name functions with the "
                 "signature of 'twice', or take it away");
  told("[thrice, sum]", at("[thrice, sum]", "sum") +
                            "'sum' is u64(span<u64>), and 'twice', whose variant it would be, is "
                            "u64(u64); variants of a function have its signature");
  told("[nobody]", at("[nobody]", "nobody") + "nothing is known of function 'nobody'");
  told("[thrice, thrice]", "'thrice' is there twice");
  told("[twice]", at("[twice]", "twice") + "'twice' is there twice");
  told("thrice", "must be a list");
  std::string many = "[v0";
  for (int i = 1; i < 17; ++i) many += ", v" + std::to_string(i);
  const std::vector<std::string> lines = faults_of(with_variants(many + "]"));
  REQUIRE_FALSE(lines.empty());
  CHECK(std::ranges::any_of(lines, [](const std::string& line) {
    return line.find("node 'work' has 17 variants; it may have 16 at most") != std::string::npos;
  }));
  CHECK_FALSE(faults_of("flow: f\n" + functions_section() +
                        "inputs: {n: u64}\n"
                        "nodes: {a: {kind: if, then: twice, else: twice, variants: [thrice]}}\n"
                        "edges: [{from: n, to: a.1}]\noutputs: {r: a}\n")
                  .empty());
}

TEST_CASE("a node that tries variants waits for a decision, and runs what that says") {
  const Plan plan = plan_of(with_variants("[thrice, twice_too]"));
  Engine engine = Engine::start(plan, {zeros(9)}, {.window = 4}).value();
  CHECK(starts_of(engine.apply(Tick{}, Time{})).empty());
  const Decided decided{
      .nodes = {{.node = 0, .variants = {{.usual = 2, .trials = {1, 0}}}, .why = "because"}}};
  CHECK(parse_decided(to_json(decided)).value() == decided);
  std::vector<StartCall> open = starts_of(engine.apply(decided, Time{}));
  CHECK(names_of(open) == Names{"thrice", "twice", "twice_too", "twice_too"});
  // What has failed is tried again with the node's own function.
  (void)engine.apply(CallFailed{.call = open[2].call, .outcome = "worker_lost", .message = "gone"},
                     Time{});
  CHECK(starts_of(engine.apply(Tick{}, std::chrono::seconds(1))).empty());  // others are open
  const auto again = starts_of(engine.apply(answer_to(open[0]), std::chrono::seconds(1)));
  REQUIRE(again.size() == 1);
  CHECK(again[0].work.index == open[2].work.index);
  CHECK(again[0].attempt == 2);
  CHECK(again[0].function->function == "twice");
  // One that does not exist is the node's own.
  (void)engine.apply(Decided{.nodes = {{.node = 0, .variants = {{.usual = 77}}}}}, Time{});
  const auto next = starts_of(engine.apply(answer_to(open[1]), std::chrono::seconds(1)));
  REQUIRE(next.size() == 1);
  CHECK(next[0].function->function == "twice");
}

TEST_CASE("a variant that fails does not fail the flow, and is not tried again") {
  const Plan plan = plan_of(with_variants("[thrice]"));
  Engine engine = Engine::start(plan, {zeros(1)}, {.window = 4}).value();
  Decided decided{.nodes = {{.node = 0, .variants = {{.usual = 1}}}}};
  (void)engine.apply(Tick{}, Time{});
  auto open = starts_of(engine.apply(decided, Time{}));
  REQUIRE(names_of(open) == Names{"thrice"});
  const auto fail = [&](const StartCall& call, Time now) {
    (void)engine.apply(
        CallFailed{.call = call.call, .outcome = "function_error", .message = "too large"}, now);
  };
  fail(open[0], Time{});
  CHECK(engine.outcome() == FlowOutcome::running);
  open = starts_of(engine.apply(Tick{}, std::chrono::seconds(1)));
  REQUIRE(names_of(open) == Names{"twice"});
  CHECK(open[0].attempt == 2);
  fail(open[0], std::chrono::seconds(1));  // no policy tries that again
  CHECK(engine.outcome() == FlowOutcome::failed);

  const VariantTimes own{.function = "twice", .calls = 5, .relative = 2, .samples = 5};
  const VariantTimes bad{
      .function = "thrice", .calls = 5, .relative = 1, .samples = 5, .has_failed = true};
  const Situation situation{.nodes = {{.node = 0,
                                       .kind = NodeKind::map,
                                       .pieces_left = 1000,
                                       .variants = {{.usual = 1, .all = {own, bad}}}}},
                            .hosts = {},
                            .times = {},
                            .workers = 2};
  const auto said = grid().front()->decide(situation).value();
  CHECK(said.nodes.at(0).variants.at(0).usual == 0);
  CHECK(said.nodes.at(0).variants.at(0).trials.empty());
  CHECK(said.nodes.at(0).why.find("thrice has failed") != std::string::npos);
}

TEST_CASE("a call of the same function in another stage says nothing of the variants") {
  Plan plan = plan_of(with_variants("[twice_a]"));
  plan.nodes[0].merge = plan.nodes[0].main;
  Tuner tuner(plan, grid());
  const auto has_taken = [&tuner](std::uint64_t number, const PlannedCall& function, Time time) {
    const CallId call{.number = number};
    tuner.see(Action{StartCall{.call = call, .function = &function}}, Time{});
    tuner.see(Event{Answered{.call = call, .output = {}, .run_time = time}}, time);
  };
  for (std::uint64_t i = 0; i < 4; ++i) has_taken(i, plan.nodes[0].merge, std::chrono::seconds(9));
  CHECK(tuner.learned().empty());
  has_taken(4, plan.nodes[0].main, std::chrono::seconds(4));
  has_taken(5, plan.nodes[0].variants[0], std::chrono::seconds(2));
  const std::vector<KeptVariants> learned = tuner.learned();
  REQUIRE(learned.size() == 1);
  CHECK(learned[0].all[0].calls == 1);
  CHECK(learned[0].all[1].calls == 1);
  CHECK(learned[0].all[0].relative == doctest::Approx(2 * learned[0].all[1].relative));
}

TEST_CASE("a flow without grid runs the function itself") {
  const Plan plan = plan_of(with_variants("[thrice]", "[]"));
  Engine engine = Engine::start(plan, {zeros(3)}, {.window = 4}).value();
  CHECK(names_of(starts_of(engine.apply(Tick{}, Time{}))) == Names{"twice", "twice", "twice"});
}

namespace {

/// Seconds of a piece by variant, and what they spread.
struct Speeds {
  std::vector<double> seconds;
  double spread = 0;
  std::function<double(std::uint64_t)> size = [](std::uint64_t) { return 1.0; };
};

/// The same for all variants, so that a search tries them on the same pieces.
double chance_of(std::uint64_t index) {
  std::minstd_rand random(static_cast<unsigned>(index * 7919 + 17));
  random.discard(3);
  return static_cast<double>(random() % 20001) / 10000 - 1;
}

SimulatedWorkers workers_of(const Speeds& speeds, std::vector<double> workers) {
  const Names names{"twice", "twice_a", "twice_b", "twice_c", "twice_d"};
  return {.speeds = std::move(workers),
          .call_seconds = 2e-6,
          .ahead = 8,
          .piece_seconds =
              [speeds](std::uint32_t, std::uint64_t index) {
                return speeds.size(index) * (1 + speeds.spread * chance_of(index));
              },
          .factor =
              [speeds, names](const std::string& function) {
                const auto place = std::ranges::find(names, function) - names.begin();
                return speeds.seconds.at(static_cast<std::size_t>(place));
              }};
}

double best_variant(const Plan& plan, const std::vector<Value>& inputs,
                    const SimulatedWorkers& workers) {
  double best = 1e9;
  for (std::uint32_t i = 0; i <= plan.nodes[0].variants.size(); ++i)
    best = std::min(best, simulate(plan, inputs, workers, {},
                                   Decided{.nodes = {{.node = 0, .variants = {{.usual = i}}}}})
                              .seconds);
  return best;
}

double ratio_of(const std::string& name, const Speeds& speeds, unsigned count,
                const std::vector<double>& workers, const std::vector<KeptVariants>& kept = {}) {
  const Plan plan = plan_of(with_variants("[twice_a, twice_b, twice_c, twice_d]"));
  const std::vector<Value> inputs{zeros(count)};
  const SimulatedWorkers simulated = workers_of(speeds, workers);
  const double learned = simulate(plan, inputs, simulated, grid(), std::nullopt, kept).seconds;
  const double ratio = learned / best_variant(plan, inputs, simulated);
  MESSAGE(name << ", " << workers.size() << " workers, " << count << " pieces: " << ratio
               << " x the best variant");
  return ratio;
}

/// IDW with groups of 32 to 512 on a core, and what a bad choice of groups costs on one.
const std::vector<double> unlike{130e-6, 100e-6, 96e-6, 109e-6, 240e-6};
const std::vector<double> alike{100e-6, 101e-6, 99e-6, 100e-6, 102e-6};
const std::vector<double> bad_own{400e-6, 100e-6, 103e-6, 250e-6, 110e-6};

}  // namespace

TEST_CASE("learned variants cost 2 % at most over the best one") {
  for (const std::vector<double>& workers :
       {std::vector<double>{1, 1}, std::vector<double>(8, 1.0), std::vector<double>{1, 1, 1, 0.25}})
    for (const double spread : {0.0, 0.05}) {
      const std::string text = ", spread " + std::to_string(spread);
      CHECK(ratio_of("unlike" + text, {unlike, spread}, 8192, workers) <= 1.02);
      CHECK(ratio_of("alike" + text, {alike, spread}, 8192, workers) <= 1.02);
      CHECK(ratio_of("bad own" + text, {bad_own, spread}, 8192, workers) <= 1.02);
    }
}

// What it does not reach: pieces that differ by half hide which of two alike variants is better.
TEST_CASE("learned variants bear pieces that differ much") {
  for (const std::vector<double>& workers :
       {std::vector<double>{1, 1}, std::vector<double>(8, 1.0)}) {
    CHECK(ratio_of("unlike, spread 0.5", {unlike, 0.5}, 8192, workers) <= 1.05);
    CHECK(ratio_of("alike, spread 0.5", {alike, 0.5}, 8192, workers) <= 1.04);
    CHECK(ratio_of("bad own, spread 0.5", {bad_own, 0.5}, 8192, workers) <= 1.02);
  }
}

TEST_CASE("pieces that grow while the flow runs mislead nobody") {
  const auto grows = [](std::uint64_t index) { return 1 + static_cast<double>(index) / 1000; };
  CHECK(ratio_of("growing", {unlike, 0.05, grows}, 8192, std::vector<double>(8, 1.0)) <= 1.02);
}

TEST_CASE("what was learned is kept, and the next flow begins with the best") {
  const Plan plan = plan_of(with_variants("[twice_a, twice_b, twice_c, twice_d]"));
  const SimulatedWorkers workers = workers_of({bad_own, 0.05}, std::vector<double>(4, 1.0));
  std::vector<KeptVariants> learned;
  (void)simulate(plan, {zeros(1000)}, workers, grid(), std::nullopt, {}, &learned);
  REQUIRE(learned.size() == 1);
  CHECK(learned[0].functions.size() == 5);
  REQUIRE(learned[0].all.size() == 5);
  CHECK(learned[0].all[1].relative == 1);
  CHECK(learned[0].all[0].relative == doctest::Approx(4).epsilon(0.2));
  CHECK(parse_kept_variants(to_json(learned)).value() == learned);

  const auto first_run = ratio_of("short, first", {bad_own, 0.05}, 64, {1, 1});
  const auto next_run = ratio_of("short, next", {bad_own, 0.05}, 64, {1, 1}, learned);
  CHECK(next_run <= 1.03);
  CHECK(next_run < first_run);

  // With another version of one of the functions it does not count.
  std::vector<KeptVariants> other = learned;
  other[0].functions[1] = "twice_a@ffff";
  CHECK(ratio_of("short, other code", {bad_own, 0.05}, 64, {1, 1}, other) ==
        doctest::Approx(first_run));
}

TEST_CASE("a node that makes one call tries another variant each time, until it knows all") {
  const Plan plan =
      plan_of("flow: f\noptimise: [grid]\n" + functions_section() +
              "inputs: {n: u64}\n"
              "nodes: {work: {kind: call, function: twice, variants: [twice_a, twice_b]}}\n"
              "edges: [{from: n, to: work}]\noutputs: {r: work}\n");
  Names called;
  SimulatedWorkers workers{.speeds = {1}};
  workers.piece_seconds = [](std::uint32_t, std::uint64_t) { return 1.0; };
  workers.factor = [&called](const std::string& function) {
    called.push_back(function);
    return function == "twice_a" ? 0.5 : 1.0;
  };
  std::vector<KeptVariants> kept;
  for (int i = 0; i < 5; ++i)
    (void)simulate(plan, {value("u64", "3")}, workers, grid(), std::nullopt, kept, &kept);
  CHECK(called == Names{"twice", "twice_a", "twice_b", "twice_a", "twice_a"});
}

TEST_CASE("what was kept is bounded, the newest first, and what is damaged is refused") {
  const auto one = [](int number) {
    return KeptVariants{.functions = {"f" + std::to_string(number), "g"},
                        .all = {{.relative = 1, .calls = 3}, {.relative = 2, .calls = 1}}};
  };
  std::vector<KeptVariants> kept;
  for (int i = 0; i < 300; ++i) kept = with_learned(std::move(kept), {one(i)});
  CHECK(kept.size() == most_kept_variants);
  CHECK(kept.front() == one(299));
  CHECK(with_learned(kept, {one(298)}).size() == most_kept_variants);
  CHECK(with_learned(kept, {one(298)}).front() == one(298));
  for (const char* bad : {"", "[]", "{}", R"({"variants": 3})", R"({"variants": [{}]})",
                          R"({"variants": [{"functions": ["f"], "device": "moon", "all": []}]})"})
    CHECK_FALSE_MESSAGE(parse_kept_variants(bad).has_value(), std::string(bad));
}

TEST_CASE("grid goes with granularity, and says why") {
  const Plan plan = plan_of("flow: f\noptimise: [granularity, grid]\n" + functions_section() +
                            "inputs: {list: span<u64>}\n"
                            "nodes: {work: {kind: map, each: doubles, variants: [doubles_too]}}\n"
                            "edges: [{from: list, to: work}]\noutputs: {r: work}\n");
  SimulatedWorkers workers{.speeds = std::vector<double>(4, 1.0), .call_seconds = 20e-6};
  workers.piece_seconds = [](std::uint32_t, std::uint64_t) { return 1e-5; };
  workers.factor = [](const std::string& function) { return function == "doubles" ? 2.0 : 1.0; };
  const SimulatedRun run = simulate(plan, {zeros(40'000)}, workers, grid("granularity"));
  CHECK(run.seconds <= 40'000 * 1e-5 / 4 * 1.05);
  CHECK(run.calls < 2000);
  CHECK(run.why.find("granularity: ") != std::string::npos);
  CHECK_MESSAGE(run.why.find("grid: doubles_too, 1e-05 s a piece; doubles takes 2 times as long") !=
                    std::string::npos,
                run.why);
}

TEST_CASE("variants are built in C++, too") {
  Flow built("built");
  built.declare<std::uint64_t(std::uint64_t)>("twice");
  built.declare<std::uint64_t(std::uint64_t)>("twice_too");
  const auto n = built.input<std::uint64_t>("n");
  const auto work = built.call("work", "twice", {.variants = {"twice_too"}});
  built.connect(n, work);
  built.output("r", work);
  built.optimise("grid");
  const Plan plan = plan_of(built.json());
  REQUIRE(plan.nodes[0].variants.size() == 1);
  CHECK(plan.nodes[0].variants[0].function == "twice_too");
  CHECK(plan.nodes[0].chooses_variant);
}

TEST_CASE("on cores and on GPUs variants are tried apart") {
  Plan plan = plan_of(with_variants("[twice_a, twice_b]", "[device, grid]"));
  plan.needs["twice"] = "1 core, 1 GPU | 1 core";
  find_choices_of_devices(plan);
  Engine engine = Engine::start(plan, {zeros(9)}, {.window = 4}).value();
  CHECK(starts_of(engine.apply(Tick{}, Time{})).empty());
  const Advice both{
      .node = 0,
      .devices = Devices{.cores = {.calls = 1}, .gpu = {.calls = 1}},
      .variants = {{.device = Device::cores, .usual = 1}, {.device = Device::gpu, .usual = 2}}};
  const auto starts = starts_of(engine.apply(Decided{.nodes = {both}}, Time{}));
  REQUIRE(starts.size() == 2);
  for (const StartCall& start : starts)
    CHECK(start.function->function == (start.device == Device::gpu ? "twice_b" : "twice_a"));

  SimulatedWorkers workers{.speeds = {1, 1, 1}, .gpu_speeds = {4}};
  workers.piece_seconds = [](std::uint32_t, std::uint64_t) { return 1e-3; };
  workers.factor = [](const std::string& function) { return function == "twice_a" ? 0.5 : 1.0; };
  std::vector<KeptVariants> learned;
  const SimulatedRun run =
      simulate(plan, {zeros(600)}, workers, grid("device"), std::nullopt, {}, &learned);
  CHECK_MESSAGE(run.why.find("on cores: twice_a, ") != std::string::npos, run.why);
  CHECK_MESSAGE(run.why.find("on gpu: twice_a, ") != std::string::npos, run.why);
  const auto knows = [&](Device device) {
    return std::ranges::any_of(learned, [&](const KeptVariants& one) {
      return one.device == device && one.all.at(1).relative == 1;
    });
  };
  CHECK(knows(Device::cores));
  CHECK(knows(Device::gpu));
}
