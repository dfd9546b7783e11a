/* Runs an instruction that is the kernel's. */
#include "../act.h"

ACT(executes_privileged) {
#if defined(__x86_64__)
  __asm__ volatile("cli; hlt");
#else
  __asm__ volatile("msr daifset, #2");
#endif
  return ORCHID_OK;
}
