/* Changes what is in the file system, its own place in it, and what new files may be. */
#include <fcntl.h>

#include "../act.h"

ACT(changes_files) {
  struct tries tries = {{0}, 0};
  TRY(mkdirat, AT_FDCWD, (long)"/tmp/left_by_a_function", 0700);
  TRY(unlinkat, AT_FDCWD, (long)"/tmp/left_by_a_function", 0);
  TRY(renameat2, AT_FDCWD, (long)"/tmp/a", AT_FDCWD, (long)"/tmp/b", 0);
  TRY(linkat, AT_FDCWD, (long)"/etc/passwd", AT_FDCWD, (long)"/tmp/a", 0);
  TRY(symlinkat, (long)"/etc/passwd", AT_FDCWD, (long)"/tmp/a");
  TRY(mknodat, AT_FDCWD, (long)"/tmp/a", 010600, 0);
  TRY(fchmodat, AT_FDCWD, (long)"/tmp", 0777);
  TRY(fchmod, 6, 0777);
  TRY(fchownat, AT_FDCWD, (long)"/tmp", 0, 0, 0);
  TRY(truncate, (long)"/tmp/a", 0);
  TRY(ftruncate, wake_client, 0);
  TRY(utimensat, AT_FDCWD, (long)"/tmp", 0, 0);
  TRY(chdir, (long)"/");
  TRY(fchdir, 6);
  TRY(chroot, (long)"/");
  TRY(umask, 0);
  TRY(mount, (long)"a", (long)"/tmp", (long)"tmpfs", 0, 0);
  TRY(umount2, (long)"/tmp", 0);
  TRY(sync);
  return say_tries(call, &tries);
}
