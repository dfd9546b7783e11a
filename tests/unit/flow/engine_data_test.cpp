// Flows whose edges are data objects: each is given to who needs it, dropped when nobody does any
// more, and made again by who made it when it was lost.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "flow/engine.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

constexpr std::uint64_t given_content = 1000;

Plan plan_with_data() {
  return plan_of(
      "flow: data\n"
      "functions:\n"
      "  make: data<u64>(u64)\n"
      "  grow: data<u64>(data<u64>,u64)\n"
      "  add: data<u64>(data<u64>,data<u64>)\n"
      "  look: u64(data<u64>)\n"
      "  large: bool(data<u64>)\n"
      "inputs: {n: u64, given: data<u64>}\n"
      "nodes:\n"
      "  a: {kind: call, function: make}\n"
      "  b: {kind: call, function: grow, takes: [x, by]}\n"
      "  c: {kind: call, function: add, takes: [p, q]}\n"
      "  steps: {kind: iterate, function: grow, takes: [state, by], times: 6}\n"
      "  climb: {kind: iterate, function: grow, takes: [state, by], times: 50, until: {function: "
      "large}}\n"
      "  d: {kind: call, function: add, takes: [p, q]}\n"
      "  seen: {kind: call, function: look}\n"
      "  last: {kind: call, function: make}\n"
      "edges:\n"
      "  - {from: n, to: a}\n"
      "  - {from: a, to: b.x}\n"
      "  - {value: 5, to: b.by}\n"
      "  - {from: b, to: c.p}\n"
      "  - {from: given, to: c.q}\n"
      "  - {from: c, to: steps.state}\n"
      "  - {value: 3, to: steps.by}\n"
      "  - {from: b, to: climb.state}\n"
      "  - {value: 20, to: climb.by}\n"
      "  - {from: steps, to: d.p}\n"
      "  - {from: a, to: d.q}\n"
      "  - {from: d, to: seen}\n"
      "  - {from: seen, to: last}\n"
      "outputs: {d: d, seen: seen, last: last, climb: climb}\n");
}

/// Objects and their content, which is one number.
class Store {
 public:
  DataId make(std::uint64_t content) {
    DataId id;
    ++made_;
    std::memcpy(id.bytes.data(), &made_, sizeof made_);
    objects_[id] = content;
    return id;
  }
  [[nodiscard]] bool has(const DataId& id) const { return objects_.contains(id); }
  [[nodiscard]] std::uint64_t content(const DataId& id) const { return objects_.at(id); }
  void drop(const DataId& id) {
    CHECK(dropped_.insert(id).second);
    objects_.erase(id);
  }
  [[nodiscard]] bool was_dropped(const DataId& id) const { return dropped_.contains(id); }
  /// Any but `kept`, which has its own keeper.
  void lose_one(std::mt19937_64& random, const DataId& kept) {
    if (objects_.size() < 2) return;
    auto one = std::next(objects_.begin(), static_cast<std::ptrdiff_t>(random() % objects_.size()));
    if (one->first != kept) objects_.erase(one);
  }
  [[nodiscard]] std::size_t size() const { return objects_.size(); }

 private:
  std::uint64_t made_ = 0;
  std::map<DataId, std::uint64_t> objects_;
  std::set<DataId> dropped_;
};

Bytes bytes_of(const DataId& id) { return {id.bytes.begin(), id.bytes.end()}; }
Bytes bytes_of(std::uint64_t number) {
  const auto bytes = std::as_bytes(std::span(&number, 1));
  return {bytes.begin(), bytes.end()};
}

std::uint64_t number_in(const Bytes& input) {
  std::uint64_t number = 0;
  REQUIRE(input.size() == sizeof number);
  std::memcpy(&number, input.data(), sizeof number);
  return number;
}

Event run_call(const StartCall& call, Store& store, bool names_lost) {
  std::vector<DataId> lost;
  for (const DataId& one : call.data) {
    CHECK_FALSE(store.was_dropped(one));
    if (!store.has(one)) lost.push_back(one);
  }
  if (!lost.empty())
    return CallFailed{.call = call.call,
                      .outcome = "data_lost",
                      .message = "it is gone",
                      .lost = names_lost ? lost : std::vector<DataId>()};
  const std::string& name = call.function->function;
  const auto content = [&](std::size_t i) { return store.content(call.data.at(i)); };
  if (name == "make") return Answered{call.call, bytes_of(store.make(10 * number_in(call.input)))};
  if (name == "grow")
    return Answered{call.call, bytes_of(store.make(content(0) + number_in(call.input)))};
  if (name == "add") return Answered{call.call, bytes_of(store.make(content(0) + content(1)))};
  if (name == "look") return Answered{call.call, bytes_of(content(0))};
  REQUIRE(name == "large");
  return Answered{call.call, bytes_of(static_cast<std::uint64_t>(content(0) > 200))};
}

/// A driver in this thread. What is dropped goes when a snapshot has been kept, as no later run
/// begins before that.
class Run {
 public:
  explicit Run(std::uint64_t seed)
      : random_(seed),
        given_(store_.make(given_content)),
        engine_(start(1 + static_cast<std::uint32_t>(seed % 4))),
        snapshot_(engine_.snapshot()) {}

  void with_trouble() {
    take(engine_.apply(Tick{}, now_));
    for (int step = 0; engine_.outcome() == FlowOutcome::running; ++step) {
      REQUIRE(step < 20'000);
      happen(random_() % 16);
    }
  }
  void without_trouble() {
    take(engine_.apply(Tick{}, now_));
    while (engine_.outcome() == FlowOutcome::running) {
      answer();
      keep();
    }
  }

  [[nodiscard]] std::map<std::string, std::uint64_t> outputs() const {
    std::map<std::string, std::uint64_t> contents;
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      const Value value = engine_.output(i);
      contents[plan_.outputs[i].name] =
          plan_.outputs[i].type.is_data() ? store_.content(data_of(*value)) : number_in(*value);
    }
    return contents;
  }
  [[nodiscard]] bool has_outputs() const {
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i)
      if (plan_.outputs[i].type.is_data() && !store_.has(data_of(*engine_.output(i)))) return false;
    return true;
  }
  [[nodiscard]] const Engine& engine() const { return engine_; }
  [[nodiscard]] Store& store() { return store_; }
  [[nodiscard]] StartCall take_first() {
    REQUIRE_FALSE(open_.empty());
    const StartCall first = std::move(open_.front());
    open_.erase(open_.begin());
    return first;
  }
  [[nodiscard]] unsigned lost_attempts() const { return lost_attempts_; }
  void apply(Event event) { take(engine_.apply(std::move(event), now_)); }

 private:
  Engine start(std::uint32_t window) {
    return Engine::start(plan_,
                         {std::make_shared<const Bytes>(bytes_of(std::uint64_t{4})),
                          std::make_shared<const Bytes>(bytes_of(given_))},
                         {.window = window})
        .value();
  }

  void take(std::vector<Action> actions) {
    for (Action& action : actions) {
      if (auto* started = std::get_if<StartCall>(&action)) open_.push_back(std::move(*started));
      if (auto* stop = std::get_if<StopCall>(&action))
        std::erase_if(open_, [&](const StartCall& call) { return call.call == stop->call; });
      if (auto* drop = std::get_if<DropData>(&action)) {
        CHECK(drop->data != given_);
        unused_.push_back(drop->data);
      }
      if (auto* failed = std::get_if<AttemptFailed>(&action))
        lost_attempts_ += failed->outcome == "data_lost" ? 1 : 0;
    }
  }

  void keep() {
    snapshot_ = engine_.snapshot();
    for (const DataId& one : std::exchange(unused_, {})) store_.drop(one);
  }

  void answer() {
    if (open_.empty()) {
      now_ += std::chrono::seconds(1);
      return apply(Tick{});
    }
    const auto at = static_cast<std::ptrdiff_t>(random_() % open_.size());
    const StartCall call = std::move(open_[static_cast<std::size_t>(at)]);
    open_.erase(open_.begin() + at);
    apply(run_call(call, store_, random_() % 2 == 0));
  }

  void happen(std::uint64_t what) {
    if (what == 0 && losses_ < 6) {
      ++losses_;
      store_.lose_one(random_, given_);
    } else if (what == 1) {
      keep();
    } else if (what == 2 && crashes_ < 4) {
      ++crashes_;
      open_.clear();
      unused_.clear();
      engine_ = Engine::resume(plan_, snapshot_, {.window = 3, .run = ++runs_}).value();
      CHECK(engine_.snapshot() == snapshot_);
      apply(Tick{});
    } else {
      answer();
    }
  }

  Plan plan_ = plan_with_data();
  std::mt19937_64 random_;
  Store store_;
  DataId given_;
  Engine engine_;
  std::string snapshot_;
  std::vector<StartCall> open_;
  std::vector<DataId> unused_;
  Time now_{};
  std::uint32_t runs_ = 0;
  unsigned losses_ = 0;
  unsigned crashes_ = 0;
  unsigned lost_attempts_ = 0;
};

}  // namespace

TEST_CASE("data goes to who needs it, and only results and what was given are left") {
  Run run(1);
  run.without_trouble();
  REQUIRE(run.engine().outcome() == FlowOutcome::done);
  const std::map<std::string, std::uint64_t> wanted{
      {"climb", 205}, {"d", 45 + 1000 + 18 + 40}, {"last", 11030}, {"seen", 1103}};
  CHECK(run.outputs() == wanted);
  CHECK(run.store().size() == 1 + 3);
}

TEST_CASE("whatever is lost, in any order and over crashes, the results are the same") {
  Run calm(1);
  calm.without_trouble();
  unsigned attempts = 0;
  unsigned whole = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Run run(seed);
    run.with_trouble();
    REQUIRE_MESSAGE(run.engine().outcome() == FlowOutcome::done, run.engine().failure()->message,
                    run.engine().failure()->node);
    attempts += run.lost_attempts();
    if (!run.has_outputs()) continue;  // a result was lost after the end of its node
    ++whole;
    CHECK(run.outputs() == calm.outputs());
  }
  CHECK(attempts > 1000);
  CHECK(whole > 1000);
}

TEST_CASE("data that the flow was given and that is lost ends it") {
  Run run(1);
  run.apply(Tick{});
  for (unsigned calls = 0; run.engine().outcome() == FlowOutcome::running; ++calls) {
    REQUIRE(calls < 10);
    const StartCall call = run.take_first();
    if (call.data.size() != 2) {
      run.apply(run_call(call, run.store(), true));
    } else {
      run.apply(CallFailed{.call = call.call,
                           .outcome = "data_lost",
                           .message = "the data object is lost",
                           .lost = {call.data[1]}});
    }
  }
  CHECK(run.engine().outcome() == FlowOutcome::failed);
  CHECK(run.engine().failure()->outcome == "data_lost");
}

TEST_CASE("data that is lost each time ends the flow, and who tries it again may lose as much") {
  Run run(1);
  const auto lose_each_time = [&run] {
    unsigned losses = 0;
    while (run.engine().outcome() == FlowOutcome::running) {
      REQUIRE(losses < 20);
      const StartCall call = run.take_first();
      if (call.data.empty()) {
        run.apply(run_call(call, run.store(), true));
      } else {
        ++losses;
        run.apply(CallFailed{.call = call.call,
                             .outcome = "data_lost",
                             .message = "it made room for others",
                             .lost = call.data});
      }
    }
    return losses;
  };
  run.apply(Tick{});
  CHECK(lose_each_time() == 9);
  CHECK(run.engine().failure()->outcome == "data_lost");
  run.apply(GoOn{});
  CHECK(lose_each_time() == 9);
  run.apply(GoOn{});
  run.without_trouble();
  CHECK(run.engine().outcome() == FlowOutcome::done);
}

TEST_CASE("data is not gathered") {
  const auto faults = faults_of(
      "flow: f\nfunctions: {cut: span<u64>(u64), make: data<u64>(u64)}\ninputs: {n: u64}\n"
      "nodes: {m: {kind: map, takes: [n], partition: cut, each: make}}\n"
      "edges: [{from: n, to: m.n}]\noutputs: {r: m}\n");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].find("results of many calls are gathered, and data objects are not") !=
        std::string::npos);
}
