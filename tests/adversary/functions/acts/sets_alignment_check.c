/* Returns with alignment checks on: each unaligned access would be a signal. */
#include "../act.h"

ACT(sets_alignment_check) {
  const int32_t status = say(call, "done");
#if defined(__x86_64__)
  __asm__ volatile("pushfq; orq $0x40000, (%%rsp); popfq" : : : "cc", "memory");
#endif
  return status;
}
