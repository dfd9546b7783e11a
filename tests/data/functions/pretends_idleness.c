/* Expected: it is ended when its worker is to make way for another module, and not before: it says
 * that its worker runs no call, and never returns. Input: the number of the last words that it
 * forges, too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchid/function.h"

/* As the program's status page has them (executor/worker/include/worker/status_page.h). */
enum { state_at = 0, last_words_at = 128 };

/* orchid_call begins with the lane and then the page: the function is in the worker's process. */
struct worker_call {
  void* lane;
  unsigned char* page;
};

ORCHID_ENTRY(pretends_idleness) {
  char text[16] = {0};
  memcpy(text, input, input_size < sizeof text ? input_size : sizeof text - 1);
  unsigned char* page = ((struct worker_call*)call)->page;
  const uint32_t words = (uint32_t)atoi(text);
  memcpy(page + last_words_at, &words, sizeof words);
  page[state_at] &= 0xfc;
  for (;;) pause();
}
