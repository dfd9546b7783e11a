/* Expected: ok, output is "clean" when no signal was blocked before, else "blocked"; it leaves all
 * blocked, which must not reach the next call. Where the symbols are not provided: rejected at
 * deploy. */
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(changes_signal_mask) {
  (void)input, (void)input_size;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigemptyset(&before);
  if (sigprocmask(SIG_BLOCK, &all, &before) != 0) return ORCHID_ERROR;
  const char* text = sigismember(&before, SIGUSR1) ? "blocked" : "clean";
  void* output = orchid_output(call, strlen(text));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, strlen(text));
  return ORCHID_OK;
}
