/* For functions that keep a core busy. */
#pragma once
#include <stdint.h>
#include <time.h>

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void compute_for(long milliseconds) {
  const int64_t end = now_ns() + milliseconds * (int64_t)1000000;
  while (now_ns() < end) {
  }
}
