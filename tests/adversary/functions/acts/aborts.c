/* Aborts. */
#include <stdlib.h>

#include "../act.h"

ACT(aborts) { abort(); }
