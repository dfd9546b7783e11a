// benchmarks/device_twins.cpp: the kernel of `flow_devices` for the fake driver. It comes to the
// same numbers without making the steps, so that the time that the driver lets pass is all that a
// launch takes, and no core is busy meanwhile.
#include "device_kernel.h"

extern "C" __attribute__((visibility("default"))) void orchid_kernel_make_steps(
    const void* arguments, uint64_t begin, uint64_t end);

void orchid_kernel_make_steps(const void* arguments, uint64_t begin, uint64_t end) {
  uint64_t factor = 1;
  uint64_t summand = 0;
  const auto& args = *static_cast<const device_kernel::Args*>(arguments);
  for (uint32_t i = 0; i < args.steps; ++i) {
    factor *= device_kernel::factor;
    summand = summand * device_kernel::factor + device_kernel::summand;
  }
  for (uint64_t item = begin; item < end; ++item) args.numbers[item] = item * factor + summand;
}
