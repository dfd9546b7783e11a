/* Says on the status page that another call runs, and crashes. */
#include "../act.h"

ACT(forges_request) {
  if (!found_worker(call, input)) return say(call, "not found");
  volatile struct page_of_worker* page = page_of(call);
  page->request_id = page->request_id + 1;
  page->slot = 0xffffffff;
  page->calls = ~0ULL;
  *(volatile int*)8 = 1;
  return ORCHID_OK;
}
