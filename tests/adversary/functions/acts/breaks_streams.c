/* Closes the standard output, and leaves a buffer for errors that lies on its stack. */
#include <stdio.h>

#include "../act.h"

ACT(breaks_streams) {
  char buffer[512];
  setvbuf(stderr, buffer, _IOFBF, sizeof buffer);
  fprintf(stderr, "into a buffer that goes");
  fclose(stdout);
  return say(call, "done");
}
