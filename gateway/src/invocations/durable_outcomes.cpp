#include "invocations/durable_outcomes.h"

#include "foundation/log.h"

namespace orchid::gateway {

namespace {

constexpr std::chrono::seconds save_again_after{1};

}  // namespace

void DurableOutcomes::save(FinishedInvocation finished) {
  auto copy = finished;  // payloads are shared, not copied
  parts_.store.finish(
      std::move(finished),
      on_thread<void>(parts_.control, [this, copy = std::move(copy)](const Result<void>& result) {
        answered(copy, result);
      }));
}

void DurableOutcomes::answered(const FinishedInvocation& finished, const Result<void>& result) {
  if (!result && result.error().code != ErrorCode::conflict) {
    log::error("event=outcome_not_saved invocation={} reason=\"{}\"", finished.record.id,
               result.error().message);
    unsaved_.push_back({finished, parts_.clock.now() + save_again_after});
    return;
  }
  saved_(finished);
}

void DurableOutcomes::tick() {
  const MonotonicTime now = parts_.clock.now();
  for (Unsaved& again : std::exchange(unsaved_, {})) {
    if (again.again <= now)
      save(std::move(again.finished));
    else
      unsaved_.push_back(std::move(again));
  }
}

}  // namespace orchid::gateway
