// Must not compile: `unmarked` has no ORCHID_DECLARE_FUNCTION.
#include "orchid/lease.h"

double unmarked(double value);

double call(orchid::Lease& lease) { return lease.function<unmarked>()(1); }
