/* Expected: function_crashed: it writes what a worker says of its own end into the page that the
 * executor reads, and ends. Input: the words' number, and "idle" if it says that no call runs. */
#include <string.h>

#include "orchid/function.h"
#include "raw_call.h"
#include "status_page.h"

ORCHID_ENTRY(forges_last_words) {
  char text[16] = {0};
  memcpy(text, input, input_size < sizeof text ? input_size : sizeof text - 1);
  forge_last_words(call, text);
  if (strstr(text, "idle") != NULL) forge_idleness(call);
  const long status[6] = {0};
#if defined(__x86_64__)
  raw_call(231, status);
#else
  raw_call(94, status);
#endif
  return ORCHID_OK;
}
