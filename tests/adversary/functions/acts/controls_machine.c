/* Wants what only an administrator may. */
#include "../act.h"

ACT(controls_machine) {
  static const int64_t time[2] = {0, 0};
  struct tries tries = {{0}, 0};
  TRY(reboot, 0, 0, 0, 0);
  TRY(kexec_load, 0, 0, 0, 0);
  TRY(init_module, 0, 0, (long)"");
  TRY(finit_module, 0, (long)"", 0);
  TRY(delete_module, (long)"a", 0);
  TRY(swapon, (long)"/a", 0);
  TRY(sethostname, (long)"a", 1);
  TRY(setdomainname, (long)"a", 1);
  TRY(settimeofday, (long)time, 0);
  TRY(clock_settime, 0, (long)time);
  TRY(adjtimex, 0);
  TRY(syslog, 3, 0, 0);
  TRY(acct, (long)"/a");
  TRY(quotactl, 0, 0, 0, 0);
  TRY(vhangup);
  return say_tries(call, &tries);
}
