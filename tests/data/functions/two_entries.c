/* Expected: a function with the entries `first` and `second`; invoking it without a choice is a
 * clear error. */
#include <string.h>

#include "orchid/function.h"

static int32_t give(orchid_call* call, const char* text) {
  void* output = orchid_output(call, strlen(text));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, strlen(text));
  return ORCHID_OK;
}

ORCHID_ENTRY(first) {
  (void)input, (void)input_size;
  return give(call, "first");
}

ORCHID_ENTRY(second) {
  (void)input, (void)input_size;
  return give(call, "second");
}
