/* Expected: ok, output is "ID CORE CORES TIME": the host calls that tell a call about itself;
 * progress is set to one half. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(reports_place) {
  (void)input, (void)input_size;
  orchid_progress(call, 0.5);
  char text[128];
  const int size =
      snprintf(text, sizeof text, "%" PRIu64 " %d %d %" PRId64, orchid_invocation_id(call),
               orchid_core(call), orchid_core_count(call), orchid_time_left_ns(call));
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}
