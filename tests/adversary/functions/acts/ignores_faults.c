/* Wants its fault ignored, and has spoiled the stack on which a handler would run. */
#include <signal.h>

#include "../act.h"

ACT(ignores_faults) {
  const stack_t nowhere = {.ss_sp = (void*)0x10000, .ss_flags = 0, .ss_size = 1 << 16};
  raw_call(SYS_sigaltstack, (long)&nowhere, 0, 0, 0, 0, 0);
  *(volatile int*)8 = 1;
  return ORCHID_OK;
}
