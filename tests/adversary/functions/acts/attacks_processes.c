/* Reaches for other processes: its parent, the first one, all of them. */
#include <sys/uio.h>

#include "../act.h"

ACT(attacks_processes) {
  const long parent = raw_call(SYS_getppid, 0, 0, 0, 0, 0, 0);
  char buffer[64];
  const struct iovec here = {buffer, sizeof buffer};
  const struct iovec there = {(void*)0x400000, sizeof buffer};
  struct tries tries = {{0}, 0};
  TRY(kill, parent, 0);
  TRY(kill, 1, 0);
  TRY(kill, 0, 0);
  TRY(kill, -1, 0);
  TRY(tgkill, parent, parent, 0);
  TRY(tkill, parent, 0);
  TRY(rt_sigqueueinfo, parent, 10, (long)buffer);
  TRY(rt_tgsigqueueinfo, parent, parent, 10, (long)buffer);
  TRY(ptrace, 16, parent, 0, 0);
  TRY(ptrace, 0, 0, 0, 0);
  TRY(process_vm_readv, parent, (long)&here, 1, (long)&there, 1, 0);
  TRY(process_vm_writev, parent, (long)&here, 1, (long)&there, 1, 0);
  TRY(process_madvise, 6, (long)&here, 1, 21, 0);
  TRY(pidfd_open, parent, 0);
  TRY(pidfd_getfd, control_socket, 0, 0);
  TRY(pidfd_send_signal, control_socket, 0, 0, 0);
  TRY(kcmp, parent, parent, 0, 0, 0);
  TRY(wait4, -1, 0, 1, 0);
  TRY(waitid, 0, 0, (long)buffer, 5, 0);
  return say_tries(call, &tries);
}
