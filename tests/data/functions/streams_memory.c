/* Expected: ok. Input "MILLISECONDS MEBIBYTES", both decimal: STREAM's triad over three arrays that
 * are so large together, until the time is over. Output "BYTES WRONG": what the loop has read and
 * written, and how many elements are not what they should be. */
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

static double* memory;
static size_t in_memory;

static double* get_memory(size_t count) {
  if (in_memory == count) return memory;
  free(memory);
  memory = malloc(count * sizeof *memory);
  in_memory = memory == NULL ? 0 : count;
  for (size_t i = 0; i < in_memory; ++i) memory[i] = (double)(i % 1000);
  return memory;
}

ORCHID_ENTRY(streams_memory) {
  enum { piece = 8192 };
  char numbers[48] = "";
  if (input_size >= sizeof numbers) return ORCHID_BAD_ARGUMENTS;
  memcpy(numbers, input, input_size);
  char* rest = numbers;
  const int64_t milliseconds = strtol(numbers, &rest, 10);
  const size_t third = (size_t)strtol(rest, NULL, 10) * 1024 * 1024 / 3 / sizeof(double);
  if (third < piece || get_memory(3 * third) == NULL) return ORCHID_BAD_ARGUMENTS;
  double* restrict a = memory;
  const double* restrict b = memory + third;
  const double* restrict c = memory + 2 * third;
  const int64_t end = now_ns() + milliseconds * 1000000;
  size_t done = 0;
  size_t at = 0;
  while (now_ns() < end) {
    for (size_t i = at; i < at + piece; ++i) a[i] = b[i] + 3 * c[i];
    done += piece;
    at = at + 2 * piece <= third ? at + piece : 0;
  }
  size_t wrong = 0;
  for (size_t i = 0; i < third && i < done; ++i)
    if (i < at && a[i] != (double)((third + i) % 1000) + 3 * (double)((2 * third + i) % 1000))
      ++wrong;
  char* out = orchid_output(call, 48);
  if (out == NULL) return ORCHID_ERROR;
  const int length = snprintf(out, 48, "%zu %zu", done * 3 * sizeof(double), wrong);
  orchid_output(call, (size_t)length);
  return ORCHID_OK;
}
