// An entry beside kernels that only GPUs have.
#include <orchid/kernel.h>

struct SaxpyArgs {
  float a;
  const float* x;
  float* y;
};
ORCHID_DECLARE_KERNEL(saxpy, struct SaxpyArgs)
ORCHID_DECLARE_KERNEL(halve, struct SaxpyArgs)

ORCHID_ENTRY(first) { return (int32_t)(saxpy.args_size + halve.args_size); }
