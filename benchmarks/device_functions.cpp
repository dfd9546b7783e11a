// benchmarks/device_functions.cpp: pieces of a map for the benchmark `flow_devices`.
#include "device_kernel.h"
#include "orchid/kernel.hpp"

ORCHID_KERNEL(make_steps, device_kernel::Args) {
  uint64_t number = item;
  for (uint32_t i = 0; i < args.steps; ++i)
    number = number * device_kernel::factor + device_kernel::summand;
  args.numbers[item] = number;
}

#if ORCHID_HOST
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

/// The sum of the numbers to which so many items come.
std::optional<std::uint64_t> sum(orchid::Call& call, std::uint64_t items) {
  orchid::DeviceSpan<std::uint64_t> on_device(call, items);
  std::vector<std::uint64_t> numbers(items);
  const volatile std::uint32_t steps = device_kernel::steps;
  if (!on_device || !orchid::launch(call, make_steps, items, {on_device.data(), steps}) ||
      !orchid::wait(call) || !on_device.copy_to(numbers))
    return std::nullopt;
  return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}
ORCHID_FUNCTION(sum)
#endif
