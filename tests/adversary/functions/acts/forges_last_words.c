/* Says on the status page that the worker had to end, through no fault of the function, and ends.
 */
#include "../act.h"

ACT(forges_last_words) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  volatile struct page_of_worker* page = page_of(call);
  strcpy((char*)page->place, "the memory of this machine is broken");
  page->last_words = 4;
  raw_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
  return ORCHID_OK;
}
