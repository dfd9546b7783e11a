/* Makes system calls in the way of 32-bit programs, where numbers have other meanings. */
#include "../act.h"

ACT(calls_32_bit_kernel) {
#if defined(__x86_64__)
  long result = 2; /* fork */
  __asm__ volatile("int $0x80" : "+a"(result) : : "rcx", "r11", "memory");
  if (result == 0) spin_for_ever();
  return say(call, "came back");
#else
  *(volatile int*)8 = 1;
  return ORCHID_OK;
#endif
}
