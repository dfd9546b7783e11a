// free_cores.h: how many cores of the platform nobody has now.
#pragma once
#include <string_view>

namespace orchid::flow {

/// From the gateway's answer to /v1/hosts; nothing it cannot read: 0.
[[nodiscard]] unsigned free_cores(std::string_view hosts);

}  // namespace orchid::flow
