/* Expected: the call gets an outcome (ok, when close is provided), and the next call works. */
#include <unistd.h>

#include "orchid/function.h"

ORCHID_ENTRY(closes_descriptors) {
  (void)call, (void)input, (void)input_size;
  for (int descriptor = 0; descriptor < 1024; ++descriptor) close(descriptor);
  return ORCHID_OK;
}
