/* STREAM's triad over three arrays of 85 MiB each and nothing else: the function that takes
 * most of the memory's bandwidth. Input: milliseconds, in decimal. Output: two uint64: bytes read
 * and written, nanoseconds that it took. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orchid/function.h"

enum { elements = 256 * 1024 * 1024 / 3 / 8 / 8192 * 8192, piece = 8192 };

static double* memory;

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

ORCHID_ENTRY(triad) {
  char number[24] = "";
  uint64_t* out = orchid_output(call, 2 * sizeof *out);
  if (input_size >= sizeof number || out == NULL) return ORCHID_BAD_ARGUMENTS;
  memcpy(number, input, input_size);
  if (memory == NULL) {
    memory = malloc(3 * sizeof(double) * elements);
    if (memory == NULL) return ORCHID_ERROR;
    for (size_t i = 0; i < 3 * (size_t)elements; ++i) memory[i] = (double)i;
  }
  double* restrict a = memory;
  const double* restrict b = memory + elements;
  const double* restrict c = memory + 2 * (size_t)elements;
  static size_t at;
  const uint64_t begin = now_ns();
  const uint64_t end = begin + (uint64_t)strtoul(number, NULL, 10) * 1000000;
  uint64_t bytes = 0;
  while (now_ns() < end) {
    for (size_t i = at; i < at + piece; ++i) a[i] = b[i] + 3 * c[i];
    bytes += 3 * sizeof(double) * piece;
    at = (at + piece) % elements;
  }
  out[0] = bytes;
  out[1] = now_ns() - begin;
  return ORCHID_OK;
}
