/* Expected: ok. Input "MEBIBYTES MILLISECONDS", both decimal: the first call of a worker writes to
 * so much memory, which the worker keeps; each call computes for so long. Output is empty. */
#include <stdlib.h>
#include <string.h>

#include "compute_for.h"
#include "orchid/function.h"

static char* volatile memory;

ORCHID_ENTRY(holds_memory) {
  (void)call;
  char numbers[48] = "";
  if (input_size >= sizeof numbers) return ORCHID_BAD_ARGUMENTS;
  memcpy(numbers, input, input_size);
  char* rest = numbers;
  const size_t size = (size_t)strtol(numbers, &rest, 10) << 20;
  if (memory == NULL) {
    memory = malloc(size);
    if (memory == NULL) return ORCHID_ERROR;
    memset(memory, 1, size);
  }
  compute_for(strtol(rest, NULL, 10));
  return ORCHID_OK;
}
