/* Says on the status page that its call has no deadline and began in the future, and computes for
 * ever. */
#include "../act.h"

ACT(forges_deadline) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  volatile struct page_of_worker* page = page_of(call);
  for (;;) {
    page->deadline_ns = 0;
    page->started_ticks = ~0ULL >> 1;
  }
}
