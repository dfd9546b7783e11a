/* Sleeps for ever, with all signals blocked. */
#include "../act.h"

ACT(sleeps_on) {
  const unsigned long all = ~0UL;
  for (;;) {
    raw_call(SYS_rt_sigprocmask, 0, (long)&all, 0, 8, 0, 0);
    raw_call(SYS_ppoll, 0, 0, 0, 0, 0, 0);
  }
}
