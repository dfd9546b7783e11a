/* Kills its own process by the signal that nobody can handle. */
#include "../act.h"

ACT(kills_itself) {
  const long pid = raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
  struct tries tries = {{0}, 0};
  TRY(kill, pid, 9);
  TRY(tgkill, pid, pid, 9);
  return say_tries(call, &tries);
}
