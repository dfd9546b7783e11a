/* Wants more of the processors than it was given, or other ones. */
#include "../act.h"

ACT(changes_scheduling) {
  const uint64_t cores[16] = {~0ULL, ~0ULL};
  const int priority = 50;
  uint64_t attributes[6] = {48 | 1ULL << 32};
  struct tries tries = {{0}, 0};
  TRY(sched_setaffinity, 0, sizeof cores, (long)cores);
  TRY(sched_setscheduler, 0, 1, (long)&priority);
  TRY(sched_setparam, 0, (long)&priority);
  TRY(sched_setattr, 0, (long)attributes, 0);
  TRY(setpriority, 0, 0, -20);
  TRY(setpriority, 2, 0, 19);
  TRY(ioprio_set, 1, 0, 1 << 13);
  TRY(mbind, 0, 4096, 1, 0, 0, 0);
  TRY(set_mempolicy, 1, 0, 0);
  TRY(migrate_pages, 0, 0, 0, 0);
  TRY(move_pages, 0, 0, 0, 0, 0, 0);
  return say_tries(call, &tries);
}
