/* Expected: ok, output is the worker's process id in decimal: as reports_pid, in another module. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "orchid/function.h"

ORCHID_ENTRY(reports_pid_again) {
  (void)input, (void)input_size;
  char text[24];
  const int size = snprintf(text, sizeof text, "%ld", (long)getpid());
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}
