// pilot/look_interval.h: how often whoever keeps pilots by demand looks.
#pragma once
#include <chrono>

namespace orchid::pilot {

/// At the demand, the queue and the nodes. Shorter than what a pilot needs to start.
constexpr std::chrono::seconds look_interval{2};

}  // namespace orchid::pilot
