/* Stops its own process. */
#include "../act.h"

ACT(stops_itself) {
  const long pid = raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
  struct tries tries = {{0}, 0};
  TRY(kill, pid, 19);
  TRY(tgkill, pid, pid, 19);
  return say_tries(call, &tries);
}
