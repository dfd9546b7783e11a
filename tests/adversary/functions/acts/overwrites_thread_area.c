/* Overwrites the thread's control block: canary, pointer guard and what lies behind. */
#include "../act.h"

ACT(overwrites_thread_area) {
  const int32_t status = say(call, "done");
#if defined(__x86_64__)
  char* area;
  __asm__ volatile("mov %%fs:0, %0" : "=r"(area));
  memset(area + 0x28, 0x5a, 256);
#elif defined(__aarch64__)
  char* area;
  __asm__ volatile("mrs %0, tpidr_el0" : "=r"(area));
  memset(area - 256, 0x5a, 256);
#endif
  return status;
}
