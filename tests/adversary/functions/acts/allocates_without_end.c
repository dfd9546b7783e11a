/* Takes memory until there is none. */
#include <stdlib.h>

#include "../act.h"

static void* volatile last; /* or else compilers leave malloc out */

ACT(allocates_without_end) {
  for (int i = 0; i < 1000000; ++i) {
    last = malloc((size_t)4 << 20);
    if (last == NULL) return ORCHID_ERROR;
  }
  return say(call, "no limit");
}
