/* Keeps memory from being taken back. */
#include "../act.h"

ACT(locks_memory) {
  static char own[8192] __attribute__((aligned(4096)));
  struct tries tries = {{0}, 0};
  TRY(mlock, (long)own, 4096);
  TRY(mlock2, (long)own, 4096, 0);
  TRY(mlockall, 3);
  TRY(munlockall);
  TRY(remap_file_pages, (long)own, 4096, 0, 0, 0);
  TRY(userfaultfd, 0);
  TRY(memfd_secret, 0);
  return say_tries(call, &tries);
}
