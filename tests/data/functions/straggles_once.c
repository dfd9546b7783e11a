/* Expected: ok, output "1"; the next call of a worker that got the input "mark" takes 20 s. */
#include <string.h>
#include <time.h>

#include "orchid/function.h"

static int marked;

ORCHID_ENTRY(straggles_once) {
  if (input_size == strlen("mark") && memcmp(input, "mark", input_size) == 0) {
    marked = 1;
  } else if (marked) {
    marked = 0;
    const struct timespec time = {.tv_sec = 20};
    nanosleep(&time, NULL);
  }
  char* output = orchid_output(call, 1);
  if (output == NULL) return ORCHID_ERROR;
  output[0] = '1';
  return ORCHID_OK;
}
