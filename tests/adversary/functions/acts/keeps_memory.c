/* Keeps half a gibibyte that it has written to, and says that all is well. */
#include <stdlib.h>

#include "../act.h"

static char* volatile kept;

ACT(keeps_memory) {
  const size_t size = (size_t)512 << 20;
  kept = malloc(size);
  if (kept != NULL) memset(kept, 1, size);
  return say(call, "done");
}
