/* Expected: ok, the log is "by stderr\n" and then "by orchid_log\n". */
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(logs_stderr) {
  (void)input, (void)input_size;
  fprintf(stderr, "by stderr\n");
  orchid_log(call, "by orchid_log\n", strlen("by orchid_log\n"));
  return ORCHID_OK;
}
