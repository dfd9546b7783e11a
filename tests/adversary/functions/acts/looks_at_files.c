/* Looks at files without opening them. */
#include <fcntl.h>

#include "../act.h"

ACT(looks_at_files) {
  char buffer[512];
  struct tries tries = {{0}, 0};
  TRY(newfstatat, AT_FDCWD, (long)"/etc/passwd", (long)buffer, 0);
  TRY(statx, AT_FDCWD, (long)"/etc/passwd", 0, 0xfff, (long)buffer);
  TRY(faccessat, AT_FDCWD, (long)"/etc/passwd", 0);
  TRY(faccessat2, AT_FDCWD, (long)"/etc/passwd", 0, 0);
  TRY(readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)buffer, sizeof buffer);
  TRY(getxattr, (long)"/", (long)"user.a", (long)buffer, sizeof buffer);
  TRY(statfs, (long)"/", (long)buffer);
#ifdef SYS_stat
  TRY(stat, (long)"/etc/passwd", (long)buffer);
  TRY(access, (long)"/etc/passwd", 0);
  TRY(readlink, (long)"/proc/self/exe", (long)buffer, sizeof buffer);
#endif
  return say_tries(call, &tries);
}
