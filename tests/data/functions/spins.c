/* Expected: ok after as many milliseconds of computing as the input says in decimal; the output is
 * empty. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orchid/function.h"

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

ORCHID_ENTRY(spins) {
  (void)call;
  char number[24] = "";
  if (input_size >= sizeof number) return ORCHID_BAD_ARGUMENTS;
  memcpy(number, input, input_size);
  const int64_t end = now_ns() + strtol(number, NULL, 10) * (int64_t)1000000;
  while (now_ns() < end) {
  }
  return ORCHID_OK;
}
