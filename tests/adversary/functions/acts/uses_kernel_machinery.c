/* Reaches for the parts of the kernel where most holes were found. */
#include "../act.h"

ACT(uses_kernel_machinery) {
  static char block[256];
  struct tries tries = {{0}, 0};
  TRY(io_uring_setup, 8, (long)block);
  TRY(io_uring_enter, 0, 0, 0, 0, 0, 0);
  TRY(io_uring_register, 0, 0, 0, 0);
  TRY(io_setup, 8, (long)block);
  TRY(userfaultfd, 0);
  TRY(bpf, 0, (long)block, sizeof block);
  TRY(perf_event_open, (long)block, 0, -1, -1, 0);
  TRY(splice, wake_client, 0, wake_worker, 0, 1, 0);
  TRY(vmsplice, wake_client, 0, 0, 0);
  TRY(tee, wake_client, wake_worker, 1, 0);
  TRY(copy_file_range, 0, 0, 1, 0, 1, 0);
  TRY(sendfile, 1, 0, 0, 1);
  TRY(pkey_alloc, 0, 0);
#ifdef SYS_modify_ldt
  TRY(modify_ldt, 0, (long)block, sizeof block);
  TRY(iopl, 3);
  TRY(ioperm, 0, 1, 1);
#endif
  return say_tries(call, &tries);
}
