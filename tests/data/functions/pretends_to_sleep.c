/* Expected: function_crashed: it writes into the page that the executor reads that no call runs,
 * and computes on. */
#include "compute_for.h"
#include "orchid/function.h"
#include "status_page.h"

ORCHID_ENTRY(pretends_to_sleep) {
  (void)input, (void)input_size;
  forge_idleness(call);
  compute_for(20000);
  return ORCHID_OK;
}
