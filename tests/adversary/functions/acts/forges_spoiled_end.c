/* Says on the status page that the call was answered, and ends without an answer. */
#include "../act.h"

ACT(forges_spoiled_end) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  volatile struct page_of_worker* page = page_of(call);
  strcpy((char*)page->place, "nothing to see");
  page->last_words = 3;
  page->state = page->state >> 2 << 2;
  raw_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
  return ORCHID_OK;
}
