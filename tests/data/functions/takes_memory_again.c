// Expected: cancelled or deadline_exceeded, no sooner: it takes all the memory that it gets, writes
// to each page, and gives it back, until the call is ended.
#include <stdlib.h>

#include "orchid/function.h"

enum { block = 4 << 20, page = 4096, most = 4096 };

ORCHID_ENTRY(takes_memory_again) {
  (void)call;
  static char* blocks[most];
  for (;;) {
    int taken = 0;
    while (taken < most && (blocks[taken] = malloc(block)) != NULL) {
      for (size_t at = 0; at < block; at += page) ((volatile char*)blocks[taken])[at] = 1;
      ++taken;
    }
    while (taken > 0) free(blocks[--taken]);
  }
}
