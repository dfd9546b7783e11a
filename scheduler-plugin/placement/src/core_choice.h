// core_choice.h: which of a host's free cores and GPUs a worker gets: near each other, so that no
// worker spans NUMA nodes without need.
#pragma once
#include "book.h"

namespace orchid::placement {

/// There is room for the worker: `misfit` says so.
[[nodiscard]] WorkerEntry choose_cores(const Book& book, SlotNumber slot, const Needs& needs);

}  // namespace orchid::placement
