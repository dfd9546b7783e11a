/* Says on the status page that a signal came, and ends by none. */
#include "../act.h"

ACT(forges_signal) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  volatile struct page_of_worker* page = page_of(call);
  memset((char*)page->place, 0x1b, sizeof page->place);
  page->code = -1;
  page->last_words = 1;
  raw_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
  return ORCHID_OK;
}
