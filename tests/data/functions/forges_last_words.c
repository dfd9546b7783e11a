/* Expected: function_crashed: it writes what a worker says of its own end into the page that the
 * executor reads, and ends. Input: the words' number, and "idle" if it says that no call runs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchid/function.h"
#include "raw_call.h"

/* As the program's status page has them (executor/worker/include/worker/status_page.h). */
enum { state_at = 0, last_words_at = 128 };

/* orchid_call begins with the lane and then the page: the function is in the worker's process. */
struct worker_call {
  void* lane;
  unsigned char* page;
};

ORCHID_ENTRY(forges_last_words) {
  char text[16] = {0};
  memcpy(text, input, input_size < sizeof text ? input_size : sizeof text - 1);
  unsigned char* page = ((struct worker_call*)call)->page;
  const uint32_t words = (uint32_t)atoi(text);
  memcpy(page + last_words_at, &words, sizeof words);
  if (strstr(text, "idle") != NULL) page[state_at] &= 0xfc;
  const long status[6] = {0};
#if defined(__x86_64__)
  raw_call(231, status);
#else
  raw_call(94, status);
#endif
  return ORCHID_OK;
}
