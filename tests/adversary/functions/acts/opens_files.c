/* Opens files, in each way that there is. */
#include <fcntl.h>

#include "../act.h"

ACT(opens_files) {
  static const uint64_t how[3] = {O_RDONLY, 0, 0};
  char handle[64] = {8, 0, 0, 0, 1, 0, 0, 0};
  struct tries tries = {{0}, 0};
  TRY(openat, AT_FDCWD, (long)"/etc/passwd", O_RDONLY);
  TRY(openat, 6, (long)"../../../etc/passwd", O_RDONLY);
  TRY(openat, AT_FDCWD, (long)"/dev/null", O_RDWR);
  TRY(openat, AT_FDCWD, (long)"/tmp/left_by_a_function", O_RDWR | O_CREAT, 0600);
  TRY(openat2, AT_FDCWD, (long)"/etc/passwd", (long)how, sizeof how);
  TRY(name_to_handle_at, AT_FDCWD, (long)"/", (long)handle, (long)handle, 0);
  TRY(open_by_handle_at, 6, (long)handle, O_RDONLY);
  TRY(open_tree, AT_FDCWD, (long)"/", 0);
#ifdef SYS_open
  TRY(open, (long)"/etc/passwd", O_RDONLY);
  TRY(creat, (long)"/tmp/left_by_a_function", 0600);
#endif
  return say_tries(call, &tries);
}
