/* Expected: ok, the log is cut at the limit and marked: 1 GB through printf. */
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(logs_gigabyte) {
  (void)call, (void)input, (void)input_size;
  static char line[1000];
  memset(line, 'x', sizeof line - 1);
  for (int i = 0; i < 1000 * 1000; ++i) {
    line[0] = (char)('0' + i % 10);
    printf("%s\n", line);
  }
  return ORCHID_OK;
}
