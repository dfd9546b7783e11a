/* Reads and changes the limits of other processes. */
#include "../act.h"

ACT(reads_limits_of_others) {
  const long parent = raw_call(SYS_getppid, 0, 0, 0, 0, 0, 0);
  uint64_t limit[2] = {0, 0};
  struct tries tries = {{0}, 0};
  TRY(prlimit64, parent, 7, 0, (long)limit);
  TRY(prlimit64, 1, 7, 0, (long)limit);
  TRY(prlimit64, parent, 7, (long)limit, 0);
  return say_tries(call, &tries);
}
