/* Sends its own process a queued signal that bears another's name. */
#include <signal.h>

#include "../act.h"

ACT(sends_forged_signal) {
  const long pid = raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
  siginfo_t information;
  memset(&information, 0, sizeof information);
  information.si_code = SI_QUEUE;
  information.si_pid = 1;
  struct tries tries = {{0}, 0};
  TRY(rt_tgsigqueueinfo, pid, pid, 39, (long)&information);
  TRY(rt_sigqueueinfo, pid, 39, (long)&information);
  return say_tries(call, &tries);
}
