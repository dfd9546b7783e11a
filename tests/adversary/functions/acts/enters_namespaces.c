/* Wants namespaces of its own, or somebody else's. */
#define _GNU_SOURCE
#include <sched.h>

#include "../act.h"

ACT(enters_namespaces) {
  struct tries tries = {{0}, 0};
  TRY(unshare, CLONE_NEWUSER);
  TRY(unshare, CLONE_NEWNET);
  TRY(unshare, CLONE_NEWNS);
  TRY(unshare, CLONE_NEWPID);
  TRY(unshare, CLONE_FILES);
  TRY(unshare, CLONE_FS);
  TRY(setns, 6, 0);
  TRY(pivot_root, (long)"/", (long)"/");
  TRY(fsopen, (long)"tmpfs", 0);
  TRY(move_mount, 6, (long)"", 6, (long)"", 0);
  return say_tries(call, &tries);
}
