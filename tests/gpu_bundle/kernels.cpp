// The checks' own kernels as a module, of which the bundle has the PTX.
#include "kernels.h"

ORCHID_KERNEL_FUNCTION(store_item)
