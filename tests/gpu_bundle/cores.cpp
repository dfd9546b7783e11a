// All kernels of the bundle for cores: what the GPU's results are compared with.
#include "idw/kernel.h"
#include "kernels.h"
#include "md5search/kernel.h"
