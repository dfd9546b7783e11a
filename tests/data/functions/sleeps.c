/* Expected: ok after as many milliseconds as the input says in decimal, output is the input. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orchid/function.h"

ORCHID_ENTRY(sleeps) {
  char number[24] = "";
  if (input_size >= sizeof number) return ORCHID_BAD_ARGUMENTS;
  memcpy(number, input, input_size);
  const long milliseconds = strtol(number, NULL, 10);
  const struct timespec time = {.tv_sec = milliseconds / 1000,
                                .tv_nsec = milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
  void* output = orchid_output(call, input_size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, input, input_size);
  return ORCHID_OK;
}
