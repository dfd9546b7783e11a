#include "flow_run/flow_driver.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace orchid::flow {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_every{200};

class Driver {
 public:
  explicit Driver(const FlowDrive& flow) : flow_(flow) {}

  void run() {
    // A flow that had stopped when its state was kept goes on.
    const bool had_stopped = flow_.engine.outcome() != FlowOutcome::running;
    apply(had_stopped ? Event(GoOn{}) : Event(Tick{}));
    look_at_first_objects();
    tune();
    while (flow_.engine.outcome() == FlowOutcome::running) {
      FlowInbox::Taken taken = flow_.calls.take(flow_.inbox, patience());
      // What has arrived counts, whoever wants the flow to end.
      for (Event& event : taken.events) apply_end(std::move(event));
      bool cancel = taken.must_end;
      for (unsigned i = 0; i < taken.interrupts && !cancel; ++i) cancel = flow_.watch.interrupted();
      if (cancel) apply(Cancel{});
      follow_window();
      tune();
      const Clock::time_point now = Clock::now();
      if (wake_ && now - start_ >= *wake_) {
        wake_.reset();
        apply(Tick{});
      }
      if (now >= next_look_) {
        next_look_ = now + look_every;
        flow_.calls.rest();
        if (flow_.watch.look()) drop_unused();
        look_at_hosts(now);
      }
    }
    // Behind the end, too: what has been computed is not computed again when the flow goes on.
    for (Event& event : flow_.calls.take(flow_.inbox, {}).events) apply_end(std::move(event));
    if (flow_.engine.outcome() == FlowOutcome::done) drop_unused();
  }

 private:
  /// A worker that comes has calls at once, and not only after the next answer.
  void follow_window() {
    if (!flow_.follows_window) return;
    const std::uint32_t window = flow_.calls.window();
    flow_.engine.set_window(window);
    const bool has_grown = window > std::exchange(window_, window);
    if (has_grown && flow_.engine.outcome() == FlowOutcome::running) apply(Tick{});
  }

  void look_at_hosts(Clock::time_point now) {
    if (flow_.hosts == nullptr || flow_.tuner == nullptr) return;
    if (auto found = flow_.hosts->take()) flow_.tuner->see_hosts(std::move(*found));
    // Before objects are asked for, which may be at every look.
    if (now >= next_look_at_hosts_) {
      next_look_at_hosts_ = now + look_at_hosts_every;
      flow_.hosts->ask();
    }
    look_at_objects();
  }

  /// Of what the flow begins with more is known before anything is decided; its first calls are
  /// under way meanwhile.
  void look_at_first_objects() {
    if (flow_.hosts == nullptr || flow_.tuner == nullptr) return;
    if (const auto wanted = flow_.tuner->wanted_objects(flow_.engine); !wanted.empty())
      flow_.tuner->see_objects(flow_.hosts->look_now(wanted));
  }

  void look_at_objects() {
    if (auto found = flow_.hosts->take_objects()) flow_.tuner->see_objects(std::move(*found));
    if (flow_.hosts->is_asked_of_objects()) return;
    if (auto wanted = flow_.tuner->wanted_objects(flow_.engine); !wanted.empty())
      flow_.hosts->ask_of(std::move(wanted));
  }

  [[nodiscard]] std::chrono::nanoseconds patience() const {
    const Clock::time_point now = Clock::now();
    std::chrono::nanoseconds patience = std::max<Clock::duration>(next_look_ - now, {});
    if (wake_) patience = std::min(patience, std::max(*wake_ - (now - start_), Time{}));
    return patience;
  }

  void apply_end(Event event) {
    if (const auto* answered = std::get_if<Answered>(&event)) flow_.calls.ended(answered->call);
    if (const auto* failed = std::get_if<CallFailed>(&event)) flow_.calls.ended(failed->call);
    flow_.watch.arrives(event);
    apply(std::move(event));
  }

  void apply(Event event) {
    const Time now = Clock::now() - start_;
    if (flow_.tuner != nullptr) flow_.tuner->see(event, now);
    for (const Action& action : flow_.engine.apply(std::move(event), now)) {
      if (flow_.tuner != nullptr) flow_.tuner->see(action, now);
      std::visit([this](const auto& one) { act(one); }, action);
    }
  }

  void tune() {
    if (flow_.tuner == nullptr || flow_.engine.outcome() != FlowOutcome::running) return;
    auto decided = flow_.tuner->decide(
        flow_.engine, {.workers = flow_.calls.workers(), .window = flow_.calls.window()},
        Clock::now() - start_);
    for (const std::string& trouble : flow_.tuner->take_troubles())
      flow_.watch.optimiser_failed(trouble);
    if (!decided) return;
    Event event(std::move(*decided));
    flow_.watch.arrives(event);
    apply(std::move(event));
  }

  void act(const StartCall& call) { flow_.calls.start(call, flow_.plan.nodes[call.node]); }
  void act(const StopCall& stop) { flow_.calls.stop(stop.call); }
  void act(const NodeChanged& change) { flow_.watch.changed(change); }
  void act(const AttemptFailed& attempt) { flow_.watch.failed(attempt); }
  void act(const WakeAt& wake) { wake_ = wake.at; }
  void act(const DropData& drop) { unused_.push_back(drop.data); }
  void act(const Prepare& next) { flow_.calls.prepare(flow_.plan.nodes[next.node], next.data); }
  void act(const Ended& /*ended*/) { wake_.reset(); }

  void drop_unused() {
    for (const DataId& data : std::exchange(unused_, {})) flow_.calls.drop(data);
  }

  const FlowDrive& flow_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_look_ = start_ + look_every;
  Clock::time_point next_look_at_hosts_ = start_ + look_at_hosts_every;
  std::optional<Time> wake_;
  std::vector<DataId> unused_;  // to be dropped
  std::uint32_t window_ = 0;    // as it was seen last
};

}  // namespace

void drive(const FlowDrive& flow) { Driver(flow).run(); }

}  // namespace orchid::flow
