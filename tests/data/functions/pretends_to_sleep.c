/* Expected: function_crashed: it writes into the page that the executor reads that no call runs,
 * and computes on. */
#include "compute_for.h"
#include "orchid/function.h"

/* orchid_call begins with the lane and then the page, whose first byte has the state
 * (executor/worker/include/worker/status_page.h). */
struct worker_call {
  void* lane;
  unsigned char* page;
};

ORCHID_ENTRY(pretends_to_sleep) {
  (void)input, (void)input_size;
  ((struct worker_call*)call)->page[0] &= 0xfc;
  compute_for(20000);
  return ORCHID_OK;
}
