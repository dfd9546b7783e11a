/* Writes past the end of a block of the heap, gives nothing back, and says that all is well. */
#include <stdlib.h>

#include "../act.h"

ACT(overflows_heap) {
  volatile char* block = malloc(100);
  if (block == NULL) return ORCHID_ERROR;
  for (int i = 0; i < 4096; ++i) block[i] = 0x5a;
  return say(call, "done");
}
