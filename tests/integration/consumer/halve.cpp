// A kernel in the program itself, which is a function like any other.
#include "orchid/kernel.hpp"

struct HalveArgs {
  float* values;
};
ORCHID_KERNEL(halve, HalveArgs) { args.values[item] /= 2; }
ORCHID_KERNEL_FUNCTION(halve)
