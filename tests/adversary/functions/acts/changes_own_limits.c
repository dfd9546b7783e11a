/* Changes its own limits, which are there for others. */
#include "../act.h"

ACT(changes_own_limits) {
  const uint64_t none[2] = {~0ULL, ~0ULL};
  const uint64_t little[2] = {0, ~0ULL};
  struct tries tries = {{0}, 0};
  TRY(setrlimit, 2, (long)none);
  TRY(prlimit64, 0, 2, (long)none, 0);
  TRY(prlimit64, 0, 7, (long)little, 0);
  TRY(prlimit64, 0, 1, (long)none, 0);
  return say_tries(call, &tries);
}
