/* Ends its own process by a signal that no handler of the worker waits for. */
#include <signal.h>

#include "../act.h"

ACT(ends_by_user_signal) {
  raise(SIGUSR1);
  return say(call, "odd");
}
