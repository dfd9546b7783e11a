/* Maps memory past the limit, in each way that the limit might not count. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "../act.h"

enum { gibibytes = 256 };

/* What it got is given back: the limit is asked about, not what is left behind. */
static int mapped(int protection, int flags) {
  long places[gibibytes];
  int count = 0;
  for (; count < gibibytes; ++count) {
    places[count] =
        raw_call(SYS_mmap, 0, 1L << 30, protection, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (places[count] < 0) break;
  }
  for (int i = 0; i < count; ++i) raw_call(SYS_munmap, places[i], 1L << 30, 0, 0, 0, 0);
  return count;
}

ACT(maps_without_end) {
  const int private_data = mapped(PROT_READ | PROT_WRITE, MAP_PRIVATE);
  const int growing = mapped(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_GROWSDOWN);
  const int shared = mapped(PROT_READ | PROT_WRITE, MAP_SHARED);
  const int only_read = mapped(PROT_READ, MAP_PRIVATE);
  const long end = raw_call(SYS_brk, 0, 0, 0, 0, 0, 0);
  const int moved_break = raw_call(SYS_brk, end + (64L << 30), 0, 0, 0, 0, 0) != end;
  if (private_data < 17 && growing == 0 && shared == 0 && only_read < 100 && !moved_break)
    return say(call, "limited");
  char text[128];
  snprintf(text, sizeof text, "private %d growing %d shared %d read %d", private_data, growing,
           shared, only_read);
  return say(call, text);
}
