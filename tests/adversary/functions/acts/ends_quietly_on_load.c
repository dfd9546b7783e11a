/* Its static initialiser ends the process past the C library, without a word. */
#include "../act.h"

__attribute__((constructor)) static void end_quietly(void) {
  raw_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

ACT(ends_quietly_on_load) { return say(call, "loaded"); }
