/* Starts processes. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>

#include "../act.h"

static long clone_like(long flags) {
  const long result = raw_call(SYS_clone, flags, 0, 0, 0, 0, 0);
  if (result == 0) spin_for_ever(); /* the child that must not be */
  return result;
}

ACT(forks) {
  struct tries tries = {{0}, 0};
  note_try(&tries, "clone", clone_like(SIGCHLD));
  note_try(&tries, "clone files", clone_like(CLONE_FILES | CLONE_FS | SIGCHLD));
  note_try(&tries, "clone parent", clone_like(CLONE_PARENT));
  note_try(&tries, "clone namespace", clone_like(CLONE_NEWUSER | SIGCHLD));
  static uint64_t arguments[11];
  arguments[4] = SIGCHLD;
  const long third = raw_call(SYS_clone3, (long)arguments, sizeof arguments, 0, 0, 0, 0);
  if (third == 0) spin_for_ever();
  note_try(&tries, "clone3", third);
#ifdef SYS_fork
  const long forked = raw_call(SYS_fork, 0, 0, 0, 0, 0, 0);
  if (forked == 0) spin_for_ever();
  note_try(&tries, "fork", forked);
#endif
  return say_tries(call, &tries);
}
