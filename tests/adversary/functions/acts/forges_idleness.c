/* Says on the status page that nothing runs, and computes for ever. */
#include "../act.h"

ACT(forges_idleness) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  for (;;) page_of(call)->state = 0;
}
