/* Puts memory of its own where the status page is: the agent sees no end of this call. */
#include "../act.h"

ACT(unmaps_status_page) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  raw_call(SYS_mmap, (long)page_of(call), 4096, 3, 0x32, -1, 0);
  return ORCHID_OK;
}
