/* Writes far past the room that it asked for. */
#include "../act.h"

ACT(overruns_output) {
  volatile char* output = orchid_output(call, 100);
  if (output == NULL) return ORCHID_ERROR;
  for (int i = 0; i < 1 << 22; ++i) output[i] = 'H';
  return ORCHID_OK;
}
