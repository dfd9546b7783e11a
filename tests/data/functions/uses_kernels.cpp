// Kernels of several kinds, each by an entry. Built by `orchid build`, with an image for GPUs, and
// into the tests themselves as native twins.
#include "orchid/kernel.hpp"

#if ORCHID_HOST
#include <vector>
#endif

struct SaxpyArgs {
  float a;
  const float* x;
  float* y;
};
ORCHID_KERNEL(saxpy, SaxpyArgs) { args.y[item] += args.a * args.x[item]; }
// Expected: the sum, for any number of cores the same bits.
ORCHID_KERNEL_FUNCTION(saxpy)

struct InterpolateArgs {
  const float* x;
  orchid::Span<const float> values;
  float* y;
};
ORCHID_KERNEL(interpolate, InterpolateArgs) {
  float sum = 0;
  float weights = 0;
  for (uint64_t j = 0; j < args.values.count; ++j) {
    const float distance = args.x[item] - static_cast<float>(j);
    const float weight = 1.0F / (distance * distance + 0.5F);
    sum += weight * args.values[j];
    weights += weight;
  }
  args.y[item] = sum / weights;
}
// Expected: the same.
ORCHID_KERNEL_FUNCTION(interpolate)

struct SumArgs {
  const float* x;
  float* sums;
  uint64_t count;
};
ORCHID_GROUP_KERNEL(sum_group, SumArgs, 128) {
  ORCHID_LOCAL(float, part, 128);
  ORCHID_ITEMS { part[local] = args.x[item]; }
  for (uint32_t step = 64; step > 0; step /= 2) {
    ORCHID_ITEMS {
      if (local < step && item + step < args.count) part[local] += part[local + step];
    }
  }
  ORCHID_ITEMS {
    if (local == 0) args.sums[group] = part[0];
  }
}

#if ORCHID_HOST

// Expected: the sum of each 128 values.
std::vector<float> sum_groups(orchid::Call& call, std::span<const float> values) {
  std::vector<float> sums((values.size() + 127) / 128);
  orchid::DeviceSpan<float> x(call, values);
  orchid::DeviceSpan<float> result(call, sums.size());
  if (!x || !result ||
      !orchid::launch(call, sum_group, values.size(), {x.data(), result.data(), values.size()}) ||
      !orchid::wait(call.handle()) || !result.copy_to(sums))
    return {};
  return sums;
}
ORCHID_FUNCTION(sum_groups)

#endif
