/* Maps memory that may only be read, which no limit counts, and makes it writable afterwards. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "../act.h"

ACT(makes_memory_writable_later) {
  long places[64];
  int count = 0;
  int writable = 0;
  for (; count < 64; ++count) {
    places[count] = raw_call(SYS_mmap, 0, 1L << 30, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (places[count] < 0) break;
    if (raw_call(SYS_mprotect, places[count], 1L << 30, PROT_READ | PROT_WRITE, 0, 0, 0) == 0)
      ++writable;
  }
  for (int i = 0; i < count; ++i) raw_call(SYS_munmap, places[i], 1L << 30, 0, 0, 0, 0);
  return say(call, writable < 17 ? "limited" : "no limit");
}
