// process_limits.h: what the limits of this process leave for what the gateway keeps.
#pragma once
#include <cstddef>

namespace orchid::gateway {

/// Of deployed functions: each takes a descriptor, and others are needed too.
[[nodiscard]] std::size_t most_versions();

}  // namespace orchid::gateway
