/* Answers with as much as a call may. */
#include "../act.h"

ACT(floods_output) {
  const size_t size = (size_t)64 << 20;
  char* output = orchid_output(call, size);
  if (output == NULL) return ORCHID_ERROR;
  memset(output, 'H', size);
  return ORCHID_OK;
}
