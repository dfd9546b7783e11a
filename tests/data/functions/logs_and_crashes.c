/* Expected: function_crashed, SIGSEGV; the log is "last words\n". */
#include <unistd.h>

#include "orchid/function.h"

ORCHID_ENTRY(logs_and_crashes) {
  (void)call, (void)input;
  static const char text[] = "last words\n";
  if (write(1, text, sizeof text - 1) < 0) return ORCHID_ERROR;
  volatile int* address = (volatile int*)(input_size * 0 + 16);
  *address = 1;
  return ORCHID_OK;
}
