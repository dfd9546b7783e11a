/* Leaves all signals blocked, and those of faults ignored. */
#include <signal.h>

#include "../act.h"

ACT(leaves_signals_ignored) {
  struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    unsigned long mask;
  } action = {(void*)1, 0, NULL, 0};
  for (long number = 1; number <= 64; ++number)
    raw_call(SYS_rt_sigaction, number, (long)&action, 0, 8, 0, 0);
  const unsigned long all = ~0UL;
  raw_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, 0, 8, 0, 0);
  return say(call, "done");
}
