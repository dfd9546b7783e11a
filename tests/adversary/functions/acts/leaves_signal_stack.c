/* Leaves a stack for signals that is too small for any handler. */
#include <signal.h>

#include "../act.h"

static char small[2048];

ACT(leaves_signal_stack) {
  const stack_t stack = {.ss_sp = small, .ss_flags = 0, .ss_size = sizeof small};
  raw_call(SYS_sigaltstack, (long)&stack, 0, 0, 0, 0, 0);
  return say(call, "done");
}
