/* Switches single steps on: each instruction from here is a signal. */
#include "../act.h"

ACT(traces_itself) {
#if defined(__x86_64__)
  __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq; nop" : : : "cc", "memory");
#else
  __asm__ volatile("brk #0");
#endif
  return ORCHID_OK;
}
