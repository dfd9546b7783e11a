/* Adds to its confinement, or takes from it: with more of it the worker could not go on. */
#include "../act.h"

ACT(changes_filters) {
  static const uint64_t refuse_all = 0x0005000000000006ULL;
  static const struct {
    unsigned short length;
    const uint64_t* program;
  } filter = {1, &refuse_all};
  struct tries tries = {{0}, 0};
  TRY(seccomp, 1, 0, (long)&filter);
  TRY(seccomp, 0, 0, 0);
  TRY(prctl, 22, 2, (long)&filter);
  TRY(prctl, 1, 0);           /* PR_SET_PDEATHSIG */
  TRY(prctl, 4, 1);           /* PR_SET_DUMPABLE */
  TRY(prctl, 36, 1);          /* PR_SET_CHILD_SUBREAPER */
  TRY(prctl, 26, 2);          /* PR_SET_TSC */
  TRY(prctl, 29, 1);          /* PR_SET_TIMERSLACK */
  TRY(prctl, 59, 1, 0, 0, 0); /* PR_SET_SYSCALL_USER_DISPATCH */
  TRY(landlock_create_ruleset, 0, 0, 1);
  TRY(landlock_restrict_self, 3, 0);
  return say_tries(call, &tries);
}
