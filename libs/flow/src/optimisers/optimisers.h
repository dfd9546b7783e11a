// optimisers.h: those that are ours.
#pragma once
#include <memory>

#include "flow/optimiser.h"

namespace orchid::flow {

[[nodiscard]] std::unique_ptr<Optimiser> make_speed();
[[nodiscard]] std::unique_ptr<Optimiser> make_device();
[[nodiscard]] std::unique_ptr<Optimiser> make_granularity();
[[nodiscard]] std::unique_ptr<Optimiser> make_prefetch();
[[nodiscard]] std::unique_ptr<Optimiser> make_grid();
/// `watts`: the bound of all hosts together. `watts_per_core`: what a core that works draws on
/// hosts of which nothing else is known.
[[nodiscard]] std::unique_ptr<Optimiser> make_power(double watts, double watts_per_core);

}  // namespace orchid::flow
