// optimiser_choices.h: `optimise:` of a document.
#pragma once
#include <vector>

#include "fields.h"
#include "flow/document.h"
#include "item.h"

namespace orchid::flow {

/// [speed, {power: {watts: 120}}, ./mine.so]. What is not known is a fault; libraries take any
/// options.
[[nodiscard]] std::vector<OptimiserChoice> read_optimisers(const Item& item, FaultList& faults);

}  // namespace orchid::flow
