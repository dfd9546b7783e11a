/* Wants memory that is writable and executable at once, in each way that there is. */
#include "../act.h"

ACT(maps_writable_code) {
  static char own[8192] __attribute__((aligned(4096)));
  struct tries tries = {{0}, 0};
  TRY(mmap, 0, 4096, 7, 0x22, -1, 0);
  TRY(mmap, 0, 4096, 6, 0x22, -1, 0);
  TRY(mprotect, (long)own, 4096, 7);
  TRY(mprotect, (long)own, 4096, 6);
  TRY(pkey_mprotect, (long)own, 4096, 7, -1);
  return say_tries(call, &tries);
}
