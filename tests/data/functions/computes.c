/* Expected: ok after as many milliseconds as the input says in decimal. Output: how many steps of a
 * computation in registers that was enough for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orchid/function.h"

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static volatile uint64_t result;

ORCHID_ENTRY(computes) {
  char number[24] = "";
  if (input_size >= sizeof number) return ORCHID_BAD_ARGUMENTS;
  memcpy(number, input, input_size);
  const int64_t end = now_ns() + strtol(number, NULL, 10) * (int64_t)1000000;
  uint64_t steps = 0;
  uint64_t x = 88172645463325252u;
  while (now_ns() < end) {
    for (int i = 0; i < 10000; ++i) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
    }
    steps += 10000;
  }
  result = x;
  char* out = orchid_output(call, 24);
  if (out == NULL) return ORCHID_ERROR;
  const int length = snprintf(out, 24, "%llu", (unsigned long long)steps);
  orchid_output(call, (size_t)length);
  return ORCHID_OK;
}
