/* The page in which a worker says what it is at, as its function reaches it
 * (executor/worker/include/worker/status_page.h). */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchid/function.h"

enum { state_at = 0, last_words_at = 128 };

/* orchid_call begins with the lane and then the page: the function is in the worker's process. */
struct worker_call {
  void* lane;
  unsigned char* page;
};

static inline unsigned char* page_of(orchid_call* call) {
  return ((struct worker_call*)call)->page;
}

/* It says that no call runs. */
static inline void forge_idleness(orchid_call* call) { page_of(call)[state_at] &= 0xfc; }

/* It says of its end what has the number at the beginning of `text`. */
static inline void forge_last_words(orchid_call* call, const char* text) {
  const uint32_t words = (uint32_t)atoi(text);
  memcpy(page_of(call) + last_words_at, &words, sizeof words);
}
