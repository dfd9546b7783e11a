// benchmarks/kernels/nbody.cpp: the kernel as a function.
#include "nbody.h"

ORCHID_KERNEL_FUNCTION(nbody_step)
