// benchmarks/device_kernel.h: what a piece of the benchmark `flow_devices` does: each item makes so
// many steps of a generator of numbers, one after the other.
#pragma once
#include <stdint.h>

namespace device_kernel {

constexpr uint32_t steps = 4096;
constexpr uint64_t factor = 6364136223846793005U;
constexpr uint64_t summand = 1442695040888963407U;

struct Args {
  uint64_t* numbers;
  uint32_t steps;  // a compiler that knows how many makes them all at once
};

}  // namespace device_kernel
