// Kernels for cores and for GPUs; what is defined outside makes them wrong.
#include <orchid/kernel.h>

struct ScaleArgs {
  float a;
  float* y;
#ifdef MORE_ARGS
  float* more;
#endif
};
ORCHID_KERNEL(scale, struct ScaleArgs) { args.y[item] *= args.a; }

#ifndef WITHOUT_SUM
struct SumArgs {
  const float* x;
  float* sums;
};
ORCHID_GROUP_KERNEL(sum, struct SumArgs, 64) {
  ORCHID_LOCAL(float, part, 64);
  ORCHID_ITEMS { part[local] = args.x[item]; }
  ORCHID_ITEMS {
    if (local == 0) args.sums[group] = part[0];
  }
}
#endif

#ifdef WITH_LOG
ORCHID_KERNEL(logarithm, struct ScaleArgs) {
  args.y[item] = logf(args.y[item]) * powf(args.a, 2.5f);
}
#endif

ORCHID_ENTRY(first) { return ORCHID_OK; }
