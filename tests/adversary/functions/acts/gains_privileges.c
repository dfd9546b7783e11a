/* Wants to be somebody else. */
#include "../act.h"

ACT(gains_privileges) {
  static uint32_t header[2] = {0x20080522, 0};
  static uint32_t all[6] = {~0U, ~0U, ~0U, ~0U, ~0U, ~0U};
  struct tries tries = {{0}, 0};
  TRY(setuid, 0);
  TRY(setgid, 0);
  TRY(setreuid, 0, 0);
  TRY(setresuid, 0, 0, 0);
  TRY(setresgid, 0, 0, 0);
  TRY(setfsuid, 0);
  TRY(setfsgid, 0);
  TRY(setgroups, 0, 0);
  TRY(capset, (long)header, (long)all);
  TRY(setsid);
  TRY(setpgid, 0, 0);
  TRY(keyctl, 0, -3, 1);
  TRY(add_key, (long)"user", (long)"a", (long)"b", 1, -3);
  TRY(request_key, (long)"user", (long)"a", 0, -3);
  return say_tries(call, &tries);
}
