/* Expected: ok; the output is the architecture for which this code was made, as uname says it. */
#include <string.h>

#include "orchid/function.h"

#if defined(__x86_64__)
static const char architecture[] = "x86_64";
#elif defined(__aarch64__)
static const char architecture[] = "aarch64";
#endif

ORCHID_ENTRY(reports_architecture) {
  (void)input, (void)input_size;
  const size_t size = sizeof architecture - 1;
  char* output = orchid_output(call, size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, architecture, size);
  return ORCHID_OK;
}
