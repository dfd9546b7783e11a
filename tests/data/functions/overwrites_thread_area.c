/* Expected: ok; it overwrites the start of the thread's area: where it is, the table of
 * thread-local blocks, the guards. That costs the worker after the answer, and no later call. */
#include "orchid/function.h"

ORCHID_ENTRY(overwrites_thread_area) {
  (void)call, (void)input, (void)input_size;
#if defined(__x86_64__)
  const unsigned long rubbish = 0x5a5a5a5a5a5a5a5aUL;
  __asm__ volatile("movq %0, %%fs:0x08" : : "r"(rubbish) : "memory");
  __asm__ volatile("movq %0, %%fs:0x28" : : "r"(rubbish) : "memory");
  __asm__ volatile("movq %0, %%fs:0x30" : : "r"(rubbish) : "memory");
  __asm__ volatile("movq %0, %%fs:0x10" : : "r"(rubbish) : "memory");
  __asm__ volatile("movq %0, %%fs:0x00" : : "r"(rubbish) : "memory");
#else
  unsigned long area = 0;
  __asm__ volatile("mrs %0, tpidr_el0" : "=r"(area));
  *(volatile unsigned long*)area = 0x5a5a5a5a5a5a5a5aUL;
#endif
  return ORCHID_OK;
}
