// The kernels of the ready functions for cores, as twins.cpp has those of the tests.
#include "idw/kernel.h"
#include "md5search/kernel.h"
