// Flows that are driven in this process, over calls that are made right here.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "flow/checker.h"
#include "flow_run/flow_driver.h"
#include "flow_run/flow_inbox.h"
#include "flows/flow_progress.h"
#include "terminal/shell.h"

namespace orchid::cli {
namespace {

using namespace std::chrono_literals;

flow::Plan plan_of_text(const std::string& text) {
  const flow::Parsed parsed = flow::parse_document(text, "");
  REQUIRE(parsed.faults.empty());
  flow::Checked checked = flow::check(parsed.document, {});
  REQUIRE(checked.faults.empty());
  return std::move(checked.plan);
}

flow::Plan chain_of_two() {
  return plan_of_text(
      "flow: chain\n"
      "functions: {f: bytes}\n"
      "inputs: {text: bytes}\n"
      "nodes:\n"
      "  a: {kind: call, function: f, retry: {attempts: 2, back_off: 1ms}, deadline: 7s}\n"
      "  b: {kind: call, function: f}\n"
      "edges: [{from: text, to: a}, {from: a, to: b}]\n"
      "outputs: {r: b}\n");
}

flow::Bytes bytes_of(const std::string& text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

/// Each call gives its input and a mark; the first `to_lose` are lost, and with `stay` none ends.
class CallsHere final : public flow::FlowCalls {
 public:
  explicit CallsHere(flow::FlowInbox& inbox) : inbox_(inbox) {}
  void start(const flow::StartCall& call, const flow::PlannedNode& node) override {
    deadlines.push_back(flow::deadline_of(node));
    if (stay) return;
    if (to_lose > 0) {
      --to_lose;
      inbox_.put(flow::CallFailed{.call = call.call, .outcome = "worker_lost", .message = "gone"});
      return;
    }
    flow::Bytes output = call.input;
    output.push_back(std::byte{'!'});
    inbox_.put(flow::Answered{.call = call.call, .output = std::move(output)});
  }
  void stop(flow::CallId call) override {
    ++stopped;
    if (answers_too_late) inbox_.put(flow::Answered{.call = call, .output = bytes_of("late")});
  }
  void ended(flow::CallId /*call*/) override { ++taken; }
  void drop(const DataId& data) override { dropped.push_back(data); }
  [[nodiscard]] std::uint32_t window() const override { return window_; }

  unsigned to_lose = 0;
  unsigned stopped = 0;
  unsigned taken = 0;
  bool stay = false;
  bool answers_too_late = false;
  std::uint32_t window_ = 1;
  std::vector<std::chrono::nanoseconds> deadlines;
  std::vector<DataId> dropped;

 private:
  flow::FlowInbox& inbox_;
};

struct DrivenFlow {
  explicit DrivenFlow(bool terminal = false) { shell.err_is_terminal = terminal; }
  void run() {
    FlowProgress progress(shell, plan, engine);
    flow::drive(
        {.plan = plan, .engine = engine, .calls = calls, .inbox = inbox, .watch = progress});
  }
  flow::Plan plan = chain_of_two();
  flow::Engine engine =
      flow::Engine::start(plan, {std::make_shared<const flow::Bytes>(bytes_of("hi"))}, {}).value();
  flow::FlowInbox inbox;
  CallsHere calls{inbox};
  std::ostringstream out;
  std::ostringstream err;
  Shell shell{out, err};
};

}  // namespace

TEST_CASE("a flow is driven to its end, and each node that ends has a line") {
  DrivenFlow stage;
  stage.run();
  CHECK(stage.engine.outcome() == flow::FlowOutcome::done);
  CHECK(*stage.engine.output(0) == bytes_of("hi!!"));
  CHECK(stage.err.str().find("a: done in ") != std::string::npos);
  CHECK(stage.err.str().find("b: done in ") != std::string::npos);
  REQUIRE(stage.calls.deadlines.size() == 2);
  CHECK(stage.calls.taken == 2);
  CHECK(stage.calls.deadlines[0] == 7s);
  CHECK(stage.calls.deadlines[1] == 24h);
}

TEST_CASE("a lost call is made again after its back-off, and told") {
  DrivenFlow stage;
  stage.calls.to_lose = 1;
  stage.run();
  CHECK(stage.engine.outcome() == flow::FlowOutcome::done);
  CHECK(stage.err.str().find("node 'a', attempt 1: worker_lost: gone; it is tried again") !=
        std::string::npos);
  CHECK(stage.calls.deadlines.size() == 3);
}

TEST_CASE("data that no node needs is dropped, but never before what was reached is kept") {
  const flow::Plan plan = plan_of_text(
      "flow: made\n"
      "nodes:\n  a: {kind: call, function: make}\n  b: {kind: call, function: see}\n"
      "functions: {make: 'data<u8>()', see: 'void(data<u8>)'}\n"
      "edges: [{from: a, to: b}]\noutputs: {}\n");
  flow::Engine engine = flow::Engine::start(plan, {}, {}).value();
  flow::FlowInbox inbox;
  class MakesData final : public flow::FlowCalls {
   public:
    explicit MakesData(flow::FlowInbox& to) : inbox_(to) {}
    void start(const flow::StartCall& call, const flow::PlannedNode& /*node*/) override {
      if (call.data.empty()) return inbox_.put(flow::Answered{.call = call.call, .output = id});
      given = call.data;
      inbox_.put(flow::Answered{.call = call.call, .output = {}});
    }
    void stop(flow::CallId /*call*/) override {}
    void ended(flow::CallId /*call*/) override {}
    void drop(const DataId& data) override { dropped.push_back(data); }
    [[nodiscard]] std::uint32_t window() const override { return 1; }
    flow::Bytes id = flow::Bytes(sizeof(DataId), std::byte{7});
    std::vector<DataId> given;
    std::vector<DataId> dropped;

   private:
    flow::FlowInbox& inbox_;
  } calls(inbox);
  std::ostringstream out;
  std::ostringstream err;
  Shell shell{out, err};
  unsigned dropped_before_kept = 0;
  FlowProgress progress(shell, plan, engine, [&] { dropped_before_kept += calls.dropped.size(); });
  flow::drive({.plan = plan, .engine = engine, .calls = calls, .inbox = inbox, .watch = progress});
  REQUIRE(engine.outcome() == flow::FlowOutcome::done);
  REQUIRE(calls.given.size() == 1);
  CHECK(calls.dropped == calls.given);
  CHECK(dropped_before_kept == 0);
}

TEST_CASE("a worker that comes later has a call while the first one still runs") {
  const flow::Plan plan = plan_of_text(
      "flow: two\nfunctions: {f: bytes}\ninputs: {text: bytes}\n"
      "nodes: {a: {kind: call, function: f}, b: {kind: call, function: f}}\n"
      "edges: [{from: text, to: a}, {from: text, to: b}]\noutputs: {r: a, s: b}\n");
  flow::Engine engine =
      flow::Engine::start(plan, {std::make_shared<const flow::Bytes>(bytes_of("hi"))},
                          {.window = 1})
          .value();
  flow::FlowInbox inbox;
  /// The second worker comes while the first call runs; that ends when the second has begun.
  class GrowingCalls final : public flow::FlowCalls {
   public:
    explicit GrowingCalls(flow::FlowInbox& to) : inbox_(to) {}
    void start(const flow::StartCall& call, const flow::PlannedNode& /*node*/) override {
      started.push_back(call.call);
      if (started.size() < 2) return;
      for (const flow::CallId& one : started)
        inbox_.put(flow::Answered{.call = one, .output = bytes_of("out")});
    }
    void stop(flow::CallId /*call*/) override {}
    void ended(flow::CallId /*call*/) override {}
    void drop(const DataId& /*data*/) override {}
    void rest() override {
      if (++looks_ > 10) inbox_.put_interrupt(true);  // it would not end by itself
    }
    [[nodiscard]] std::uint32_t window() const override { return looks_ > 0 ? 2 : 1; }
    std::vector<flow::CallId> started;

   private:
    flow::FlowInbox& inbox_;
    unsigned looks_ = 0;
  } calls(inbox);
  class Patient final : public flow::FlowWatch {
   public:
    void changed(const flow::NodeChanged& /*change*/) override {}
    void failed(const flow::AttemptFailed& /*attempt*/) override {}
    [[nodiscard]] bool look() override { return true; }
    [[nodiscard]] bool interrupted() override { return false; }
  } watch;
  flow::drive({.plan = plan,
               .engine = engine,
               .calls = calls,
               .inbox = inbox,
               .watch = watch,
               .follows_window = true});
  CHECK(engine.outcome() == flow::FlowOutcome::done);
  CHECK(calls.started.size() == 2);
}

TEST_CASE("a flow that failed goes on when it is driven again") {
  DrivenFlow stage;
  stage.calls.to_lose = 2;
  stage.run();
  CHECK(stage.engine.outcome() == flow::FlowOutcome::failed);
  stage.run();
  CHECK(stage.engine.outcome() == flow::FlowOutcome::done);
}

TEST_CASE("in a pipe Ctrl-C cancels a flow, and what ends the process does so everywhere") {
  for (const bool terminal : {false, true}) {
    DrivenFlow stage(terminal);
    stage.calls.stay = true;
    stage.inbox.put_interrupt(terminal);
    stage.run();
    CHECK(stage.engine.outcome() == flow::FlowOutcome::cancelled);
    CHECK(stage.calls.stopped == 1);
  }
}

TEST_CASE("an answer that comes together with Ctrl-C counts") {
  DrivenFlow stage;
  stage.inbox.put_interrupt(false);  // beside the answer of the first call
  stage.run();
  CHECK(stage.engine.outcome() == flow::FlowOutcome::cancelled);
  CHECK(stage.engine.progress(0).state == flow::NodeState::done);
}

TEST_CASE("an answer that crosses with the end of its flow counts") {
  DrivenFlow stage;
  stage.calls.stay = true;
  stage.calls.answers_too_late = true;
  stage.inbox.put_interrupt(true);
  stage.run();
  CHECK(stage.engine.outcome() == flow::FlowOutcome::cancelled);
  CHECK(stage.engine.progress(0).state == flow::NodeState::done);
  CHECK(stage.calls.taken == 1);
}

TEST_CASE(
    "two Ctrl-C that come together are a question and its answer, with --json one is enough") {
  for (const bool json : {false, true}) {
    DrivenFlow stage(true);
    stage.shell.json = json;
    stage.calls.stay = true;
    stage.inbox.put_interrupt(false);
    if (!json) stage.inbox.put_interrupt(false);
    stage.run();
    CHECK(stage.engine.outcome() == flow::FlowOutcome::cancelled);
    CHECK((stage.err.str().find("cancel the flow?") == std::string::npos) == json);
  }
}

TEST_CASE("what was reached is kept soon after a flow has begun") {
  DrivenFlow stage;
  unsigned kept = 0;
  FlowProgress progress(stage.shell, stage.plan, stage.engine, [&] { ++kept; });
  CHECK(progress.look());
  CHECK_FALSE(progress.look());
  CHECK(kept == 1);
}

TEST_CASE("what a function says is one line, whatever is in it") {
  const flow::Plan plan = chain_of_two();
  const std::string text = describe(
      plan,
      {.node = 0, .part = {}, .attempt = 1, .outcome = "function_error", .message = "a\nb: done"});
  CHECK(text == "node 'a', attempt 1: function_error: a\\x0ab: done");
}

TEST_CASE("on a terminal Ctrl-C asks, and a second one is the answer") {
  DrivenFlow stage(true);
  FlowProgress progress(stage.shell, stage.plan, stage.engine);
  CHECK_FALSE(progress.interrupted());
  CHECK(stage.err.str().find("cancel the flow?") != std::string::npos);
  CHECK(progress.interrupted());
}

TEST_CASE("an inbox gives what has come, and nothing when nothing comes") {
  flow::FlowInbox inbox;
  CHECK(inbox.take(0s).events.empty());
  inbox.put(flow::Tick{});
  inbox.put(flow::Cancel{});
  inbox.put_interrupt(false);
  const flow::FlowInbox::Taken taken = inbox.take(10s);
  CHECK(taken.events.size() == 2);
  CHECK(taken.interrupts == 1);
  CHECK_FALSE(taken.must_end);
}

}  // namespace orchid::cli
