/* Expected: ok, output is "refused": no timer that would fire in a later call, and no mask for new
 * files. */
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#include "orchid/function.h"

ORCHID_ENTRY(sets_timers) {
  (void)input, (void)input_size;
  const struct itimerval soon = {{1, 0}, {1, 0}};
  timer_t timer;
  const int refused = setitimer(ITIMER_REAL, &soon, NULL) != 0 &&
                      timer_create(CLOCK_MONOTONIC, NULL, &timer) != 0 && umask(0) == (mode_t)-1;
  const char* text = refused ? "refused" : "set";
  void* output = orchid_output(call, strlen(text));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, strlen(text));
  return ORCHID_OK;
}
