/* Returns a status that nobody has agreed on. */
#include "../act.h"

ACT(returns_odd_status) { return INT32_MIN; }
