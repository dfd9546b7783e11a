/* Handles its own fault by returning to it, for ever. */
#include <signal.h>

#include "../act.h"

static void come_back(int number) { (void)number; }

ACT(loops_in_handler) {
  signal(SIGSEGV, come_back);
  *(volatile int*)8 = 1;
  return say(call, "odd");
}
