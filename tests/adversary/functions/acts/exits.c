/* Calls exit. */
#include <stdlib.h>

#include "../act.h"

ACT(exits) { exit(7); }
