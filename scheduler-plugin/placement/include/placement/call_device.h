// placement/call_device.h: what a call's kernels are to run on, where its function may choose.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace orchid::placement {

enum class CallDevice : std::uint8_t { cores, gpu };

/// "cores", "gpu".
[[nodiscard]] std::string_view to_string(CallDevice device);
[[nodiscard]] std::optional<CallDevice> parse_call_device(std::string_view name);

}  // namespace orchid::placement
