/* Sends itself what a batch system sends: a worker is not ended by it. */
#include <signal.h>

#include "../act.h"

ACT(asks_itself_to_end) {
  raise(SIGTERM);
  raise(SIGPIPE);
  return say(call, "done");
}
