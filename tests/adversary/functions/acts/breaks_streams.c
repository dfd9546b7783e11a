/* Leaves a buffer for errors that lies on its stack, with a text in it. */
#include <stdio.h>

#include "../act.h"

ACT(breaks_streams) {
  char buffer[512];
  setvbuf(stderr, buffer, _IOFBF, sizeof buffer);
  fprintf(stderr, "into a buffer that goes");
  return say(call, "done");
}
