// offload/host_idle.h: whether this host has processors that nobody uses.
#pragma once
#include <chrono>
#include <optional>

namespace orchid::sdk {

/// For how long the host's processors have been idle since it started, all together; it counts in
/// steps of 10 ms. Some microseconds. Nothing: this system does not tell.
[[nodiscard]] std::optional<std::chrono::nanoseconds> host_idle_time();

}  // namespace orchid::sdk
