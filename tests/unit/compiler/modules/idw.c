/* Inverse distance weighting: the item's own loop runs over all samples, as long for each item. */
#include <orchid/kernel.h>

struct Points {
  const float* x;
  const float* value;
  float* y;
  uint64_t samples;
};
ORCHID_KERNEL(idw, struct Points) {
  float sum = 0;
  float weights = 0;
  for (uint64_t j = 0; j < args.samples; ++j) {
    const float distance = args.x[item] - args.x[j];
    const float weight = 1.0f / (distance * distance + 1e-3f);
    sum += weight * args.value[j];
    weights += weight;
  }
  args.y[item] = sum / weights;
}
ORCHID_ENTRY(interpolate) { return orchid_launch(call, &idw, input, input_size, 1000); }
