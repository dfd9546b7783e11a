// invocations/durable_outcomes.h: outcomes on their way to the store, as often as it takes.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "foundation/clock.h"
#include "foundation/task.h"
#include "store/store.h"

namespace orchid::gateway {

/// Owned by the control thread.
class DurableOutcomes {
 public:
  struct Parts {
    Store& store;
    const Clock& clock;
    Poster control;
  };
  /// `saved` is called on the control thread for each outcome, when the store has it.
  using Saved = std::function<void(const FinishedInvocation&)>;
  DurableOutcomes(Parts parts, Saved saved) : parts_(std::move(parts)), saved_(std::move(saved)) {}

  void save(FinishedInvocation finished);
  /// Several times a second: tries again what the store could not take.
  void tick();

 private:
  struct Unsaved {
    FinishedInvocation finished;
    MonotonicTime again;
  };
  void answered(const FinishedInvocation& finished, const Result<void>& result);

  Parts parts_;
  Saved saved_;
  std::vector<Unsaved> unsaved_;
};

}  // namespace orchid::gateway
