/* Expected: ok. Input "MEBIBYTES MILLISECONDS", both decimal: writes to so much memory, and then
 * waits. Output is empty. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orchid/function.h"

ORCHID_ENTRY(fills_memory) {
  (void)call;
  char numbers[48] = "";
  if (input_size >= sizeof numbers) return ORCHID_BAD_ARGUMENTS;
  memcpy(numbers, input, input_size);
  char* rest = numbers;
  const size_t size = (size_t)strtol(numbers, &rest, 10) << 20;
  const long milliseconds = strtol(rest, NULL, 10);
  char* volatile memory = malloc(size);
  if (memory == NULL) return ORCHID_ERROR;
  memset(memory, 1, size);
  const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
  free(memory);
  return ORCHID_OK;
}
