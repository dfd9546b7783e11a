/* Expected: ok, with the sum of the bytes of the first data object, which it begins to read 300 ms
 * after it has said that it is half done. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compute_for.h"
#include "orchid/function.h"

ORCHID_ENTRY(sleeps_with_data) {
  (void)input, (void)input_size;
  const void* bytes = NULL;
  uint64_t size = 0;
  if (orchid_data(call, 0, &bytes, &size) != ORCHID_OK) return ORCHID_ERROR;
  orchid_progress(call, 0.5);
  compute_for(300);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < size; ++i) sum += ((const unsigned char*)bytes)[i];
  char text[32];
  const int length = snprintf(text, sizeof text, "%" PRIu64, sum);
  void* output = orchid_output(call, (size_t)length);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)length);
  return ORCHID_OK;
}
