/* Uses up the mappings that the kernel allows a process, and says that all is well: nothing could
 * be loaded there any more. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "../act.h"

ACT(uses_up_mappings) {
  for (int i = 0; i < 200000; ++i) {
    const int protection = i % 2 == 0 ? PROT_READ : PROT_NONE;
    if (mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) break;
  }
  return say(call, "done");
}
