#include "flows/flow_driver.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace orchid::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_every{200};

class Driver {
 public:
  explicit Driver(const FlowDrive& flow) : flow_(flow) {}

  void run() {
    // A flow that had stopped when its state was kept goes on.
    const bool had_stopped = flow_.engine.outcome() != flow::FlowOutcome::running;
    apply(had_stopped ? flow::Event(flow::GoOn{}) : flow::Event(flow::Tick{}));
    while (flow_.engine.outcome() == flow::FlowOutcome::running) {
      FlowInbox::Taken taken = flow_.inbox.take(patience());
      // What has arrived counts, whoever wants the flow to end.
      for (flow::Event& event : taken.events) apply_end(std::move(event));
      bool cancel = taken.must_end;
      for (unsigned i = 0; i < taken.interrupts && !cancel; ++i) cancel = flow_.watch.interrupted();
      if (cancel) apply(flow::Cancel{});
      const Clock::time_point now = Clock::now();
      if (wake_ && now - start_ >= *wake_) {
        wake_.reset();
        apply(flow::Tick{});
      }
      if (now >= next_look_) {
        next_look_ = now + look_every;
        flow_.watch.look();
        if (flow_.follows_window) flow_.engine.set_window(flow_.calls.window());
      }
    }
  }

 private:
  [[nodiscard]] std::chrono::nanoseconds patience() const {
    const Clock::time_point now = Clock::now();
    std::chrono::nanoseconds patience = std::max<Clock::duration>(next_look_ - now, {});
    if (wake_) patience = std::min(patience, std::max(*wake_ - (now - start_), flow::Time{}));
    return patience;
  }

  void apply_end(flow::Event event) {
    if (const auto* answered = std::get_if<flow::Answered>(&event))
      flow_.calls.ended(answered->call);
    if (const auto* failed = std::get_if<flow::CallFailed>(&event)) flow_.calls.ended(failed->call);
    apply(std::move(event));
  }

  void apply(flow::Event event) {
    for (const flow::Action& action : flow_.engine.apply(std::move(event), Clock::now() - start_))
      std::visit([this](const auto& one) { act(one); }, action);
  }

  void act(const flow::StartCall& call) { flow_.calls.start(call, flow_.plan.nodes[call.node]); }
  void act(const flow::StopCall& stop) { flow_.calls.stop(stop.call); }
  void act(const flow::NodeChanged& change) { flow_.watch.changed(change); }
  void act(const flow::AttemptFailed& attempt) { flow_.watch.failed(attempt); }
  void act(const flow::WakeAt& wake) { wake_ = wake.at; }
  void act(const flow::Ended& /*ended*/) { wake_.reset(); }

  const FlowDrive& flow_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_look_ = start_ + look_every;
  std::optional<flow::Time> wake_;
};

}  // namespace

void drive(const FlowDrive& flow) { Driver(flow).run(); }

}  // namespace orchid::cli
