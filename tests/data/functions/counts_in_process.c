/* Expected: ok, output is the worker's process id and the number of its calls. */
#include "counts_in_process.h"

ORCHID_ENTRY(counts_in_process) {
  (void)input, (void)input_size;
  return count_in_process(call);
}
