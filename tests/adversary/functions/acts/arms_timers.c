/* Leaves timers that would send signals to whoever runs there later. */
#include "../act.h"

ACT(arms_timers) {
  const int64_t soon[4] = {0, 1000, 0, 1000};
  long timer = 0;
  struct tries tries = {{0}, 0};
  TRY(setitimer, 0, (long)soon, 0);
  TRY(setitimer, 2, (long)soon, 0);
  TRY(timer_create, 1, 0, (long)&timer);
  TRY(timer_settime, 0, 0, (long)soon, 0);
#ifdef SYS_alarm
  TRY(alarm, 1);
#endif
  return say_tries(call, &tries);
}
