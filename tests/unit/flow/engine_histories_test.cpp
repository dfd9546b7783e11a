// Whatever happens to calls and drivers, in any order: each node has one outcome, and each edge
// one value, which is that of a run without any trouble.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "flow/engine.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

/// Every kind of node, one feeding the other.
Plan all_kinds() {
  return plan_of(
      "flow: all\n" + functions_section() +
      "inputs: {n: u64, wanted: u64}\n"
      "nodes:\n"
      "  doubled: {kind: map, takes: [n], partition: {function: count, takes: [n]}, each: twice}\n"
      "  total: {kind: reduce, function: sum, fan: 3}\n"
      "  merged: {kind: map, takes: [list, more], each: next, merge: sum}\n"
      "  search: {kind: map, takes: [n, wanted], partition: {function: count, takes: [n]}, "
      "each: seven, until: found}\n"
      "  grow: {kind: iterate, function: next, takes: [state, by], times: 40, until: "
      "{function: is_big}}\n"
      "  big: {kind: call, function: is_big}\n"
      "  choose: {kind: if, then: twice, else: thrice, takes: [big, x]}\n"
      "  say: {kind: call, function: say}\n"
      "  lead: {kind: master, hand_out: hand, each: twice, gather: next}\n"
      "  runs: {kind: map, takes: [n], partition: {function: count, takes: [n]}, each: doubles, "
      "merge: sum}\n"
      "  parts: {kind: divide, divide: halves, solve: thrice, combine: sum}\n"
      "edges:\n"
      "  - {from: n, to: doubled.n}\n"
      "  - {from: doubled, to: total}\n"
      "  - {from: doubled, to: merged.list}\n"
      "  - {from: n, to: merged.more}\n"
      "  - {from: n, to: search.n}\n"
      "  - {from: wanted, to: search.wanted}\n"
      "  - {from: total, to: grow.state}\n"
      "  - {value: 3, to: grow.by}\n"
      "  - {from: total, to: big}\n"
      "  - {from: big, to: choose.big}\n"
      "  - {from: merged, to: choose.x}\n"
      "  - {from: choose, to: say}\n"
      "  - {value: 0, to: lead}\n"
      "  - {from: lead, to: parts}\n"
      "  - {from: n, to: runs}\n"
      "outputs: {doubled: doubled, total: total, merged: merged, search: search, grow: "
      "grow, choose: choose, lead: lead, parts: parts, runs: runs}\n");
}

/// One history: answers in any order, lost calls, doubled and late answers, crashes of the driver,
/// cancels; until the flow is done.
class History {
 public:
  History(const Plan& plan, const std::vector<Value>& inputs, std::uint64_t seed)
      : plan_(&plan),
        random_(seed),
        engine_(Engine::start(plan, inputs, {.window = 1 + static_cast<std::uint32_t>(seed % 9)})
                    .value()),
        platform_(plan),
        snapshot_(engine_.snapshot()) {}

  Engine& run() {
    apply(Tick{});
    for (int step = 0; engine_.outcome() != FlowOutcome::done; ++step) {
      REQUIRE(step < 20'000);
      if (engine_.outcome() != FlowOutcome::running)
        apply(GoOn{});
      else
        happen(random_() % 21);
    }
    late();
    return engine_;
  }
  [[nodiscard]] const std::set<std::uint64_t>& kinds_of_events() const { return happened_; }

 private:
  void apply(Event event) { platform_.take(engine_.apply(std::move(event), now_)); }

  void happen(std::uint64_t what) {
    happened_.insert(what);
    if (what == 0) {
      crash();
    } else if (what == 1) {
      snapshot_ = engine_.snapshot();
    } else if (what == 2) {
      const std::vector<StartCall> open = platform_.open();
      apply(Cancel{});
      // Some answers cross with it.
      for (const StartCall& call : open)
        if (random_() % 2 == 0) apply(answer_to(call));
    } else if (what == 3) {
      late();
    } else if (what == 20) {
      apply(decision());
    } else if (platform_.open().empty()) {
      now_ += std::chrono::milliseconds(random_() % 500);
      apply(Tick{});
    } else if (what < 7) {
      fail_one(what == 6 ? "function_error" : "worker_lost");
    } else {
      Answered answer = platform_.answer(random_);
      old_.push_back(answer);
      apply(std::move(answer));
    }
  }

  /// Anything that somebody could say, also of nodes that there are not.
  Decided decision() {
    Decided decided{.nodes = {}, .open_calls = 1 + static_cast<std::uint32_t>(random_() % 4)};
    for (int i = 0; i < 3; ++i)
      decided.nodes.push_back(
          {.node = static_cast<std::uint32_t>(random_() % (plan_->nodes.size() + 1)),
           .priority = static_cast<std::int64_t>(random_() % 7) - 3,
           .pieces = random_() % 9,
           .share = static_cast<std::uint32_t>(random_() % 4)});
    return decided;
  }

  void fail_one(const std::string& outcome) {
    const Answered answer = platform_.answer(random_);
    old_.push_back(answer);  // the answer of a call that was taken for lost
    apply(CallFailed{.call = answer.call, .outcome = outcome, .message = "it happens"});
  }

  /// An answer that came before, or that nobody waits for any more.
  void late() {
    if (old_.empty()) return;
    const auto before = engine_.snapshot();
    apply(old_[random_() % old_.size()]);
    CHECK(engine_.snapshot() == before);
  }

  /// The driver is gone, with all that was not in its last snapshot; answers may still come.
  void crash() {
    std::mt19937_64 any(random_());
    while (!platform_.open().empty()) old_.push_back(platform_.answer(any));
    auto resumed = Engine::resume(*plan_, snapshot_, {.window = 5, .run = ++runs_});
    REQUIRE_MESSAGE(resumed.has_value(), resumed.error().message);
    CHECK(resumed->snapshot() == snapshot_);
    engine_ = std::move(*resumed);
    platform_.restart(engine_);
    if (engine_.outcome() == FlowOutcome::running) apply(Tick{});
  }

  const Plan* plan_;
  std::mt19937_64 random_;
  Engine engine_;
  Platform platform_;
  std::string snapshot_;
  std::vector<Answered> old_;
  std::set<std::uint64_t> happened_;
  Time now_{};
  std::uint32_t runs_ = 0;
};

}  // namespace

TEST_CASE("any history of lost, late and doubled answers and of crashes ends in the same values") {
  const Plan plan = all_kinds();
  const std::vector<Value> inputs{value("u64", "17"), value("u64", "11")};
  const auto wanted = outputs_of(plan, inputs);
  CHECK(wanted.at("total") == "306");
  CHECK(wanted.at("runs") == "306");
  CHECK(wanted.at("search") == "\"found 11\"");
  std::set<std::uint64_t> happened;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    History history(plan, inputs, seed);
    CHECK(outputs_of(plan, history.run()) == wanted);
    happened.insert(history.kinds_of_events().begin(), history.kinds_of_events().end());
  }
  CHECK(happened.size() == 21);  // nothing that can happen was left out
}
