// A function that runs on cores and on a GPU, and says where it did.
#include "kernels.h"
#include "orchid/kernel.hpp"

#if ORCHID_HOST
#include <cstdint>
#include <optional>

/// Items that it has mixed, and in the lowest bit whether on a GPU.
std::optional<std::uint64_t> where(orchid::Call& call, std::uint64_t items) {
  orchid::DeviceSpan<std::uint64_t> out(call, items);
  if (!out || !orchid::launch(call, mix, items, {42, out.data()}) || !orchid::wait(call))
    return std::nullopt;
  return 2 * items + (orchid_device_kind(call.handle()) == ORCHID_DEVICE_GPU ? 1 : 0);
}
ORCHID_FUNCTION(where)
#endif
