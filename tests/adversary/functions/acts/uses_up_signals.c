/* Leaves as many signals pending as it can: the kernel counts them for all processes of the user.
 */
#include <signal.h>
#include <unistd.h>

#include "../act.h"

ACT(uses_up_signals) {
  unsigned long all = ~0UL;
  raw_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, 0, sizeof all, 0, 0);
  unsigned sent = 0;
  while (sent < 1000 &&
         raw_call(SYS_tgkill, getpid(), raw_call(SYS_gettid, 0, 0, 0, 0, 0, 0), 40, 0, 0, 0) >= 0)
    ++sent;
  signal(40, SIG_IGN); /* they go */
  return say(call, sent <= 64 ? "few" : "many");
}
