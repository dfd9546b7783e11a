// The kernels for cores, as the fake driver runs them in place of their PTX.
#include "kernels.h"
