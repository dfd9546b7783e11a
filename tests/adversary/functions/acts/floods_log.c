/* Prints three hundred megabytes. */
#include "../act.h"

ACT(floods_log) {
  static char line[1 << 16];
  memset(line, 'x', sizeof line);
  for (int i = 0; i < 5000; ++i) orchid_log(call, line, sizeof line);
  return say(call, "done");
}
