/* Returns with other values in the registers that it had to keep. */
#include "../act.h"

ACT(trashes_registers) {
  say(call, "done");
#if defined(__x86_64__)
  __asm__ volatile(
      "mov $0x4141414141414141, %%rbx; mov %%rbx, %%rbp; mov %%rbx, %%r12; mov %%rbx, %%r13;"
      "mov %%rbx, %%r14; mov %%rbx, %%r15; xor %%eax, %%eax;"
      "1: pop %%rdx; cmp %0, %%rdx; jne 1b; jmp *%%rdx"
      :
      : "r"(__builtin_return_address(0))
      : "memory");
#endif
  *(volatile int*)8 = 1;
  return ORCHID_OK;
}
