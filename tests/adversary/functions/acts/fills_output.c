/* Answers with a megabyte that no other function's answer may show. */
#include "../act.h"

ACT(fills_output) {
  const size_t size = (size_t)1 << 20;
  char* output = orchid_output(call, size);
  if (output == NULL) return ORCHID_ERROR;
  for (size_t at = 0; at + 8 <= size; at += 8) memcpy(output + at, "HOSTILE ", 8);
  return ORCHID_OK;
}
