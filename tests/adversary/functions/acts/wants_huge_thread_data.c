/* Has more data for each thread than any worker has. */
#include "../act.h"

static _Thread_local char huge[(size_t)8 << 30];

ACT(wants_huge_thread_data) {
  ((volatile char*)huge)[input_size * 4096] = 1;
  return say(call, "loaded");
}
