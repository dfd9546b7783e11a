// dispatcher/dispatch_counts.h: what became of the workers that places keep for their modules.
#pragma once
#include <span>

#include "foundation/metrics_text.h"
#include "foundation/thread_counter.h"

namespace orchid::gateway {

/// Of the dispatchers of one thread.
struct DispatchCounts {
  ThreadCounter switches;   // a call went to another worker than the one before
  ThreadCounter swaps;      // a module got a new worker at a place that had some
  ThreadCounter ahead;      // a worker came for a module that had no call yet
  ThreadCounter evictions;  // for which the one that was used longest ago went
};

void add_metrics(MetricsText& text, std::span<const DispatchCounts* const> threads);

}  // namespace orchid::gateway
