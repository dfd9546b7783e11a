/* Expected: ok, the log is "by write\n", though the function goes past stdio. */
#include <unistd.h>

#include "orchid/function.h"

ORCHID_ENTRY(logs_write) {
  (void)call, (void)input, (void)input_size;
  static const char text[] = "by write\n";
  return write(1, text, sizeof text - 1) == (ssize_t)sizeof text - 1 ? ORCHID_OK : ORCHID_ERROR;
}
