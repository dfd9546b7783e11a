/* "SUM of BYTES in OBJECTS": the sum of all bytes that it is given as data. With an input it says
 * first that it has begun, and works for two seconds before it looks at the data. */
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"

static const int64_t pause_ns = 2000000000;

ORCHID_ENTRY(sums_data) {
  (void)input;
  if (input_size > 0) {
    const int64_t begin = orchid_time_left_ns(call);
    orchid_progress(call, 0.5);
    while (begin - orchid_time_left_ns(call) < pause_ns && !orchid_should_stop(call)) {
    }
  }
  uint64_t sum = 0;
  uint64_t bytes = 0;
  const uint32_t count = orchid_data_count(call);
  for (uint32_t i = 0; i < count; ++i) {
    const void* data = NULL;
    uint64_t size = 0;
    if (orchid_data(call, i, &data, &size) != ORCHID_OK) return ORCHID_ERROR;
    for (uint64_t at = 0; at < size; ++at) sum += ((const unsigned char*)data)[at];
    bytes += size;
  }
  char text[96];
  const int length = snprintf(text, sizeof(text), "%llu of %llu in %u", (unsigned long long)sum,
                              (unsigned long long)bytes, (unsigned)count);
  void* output = orchid_output(call, (size_t)length);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)length);
  return ORCHID_OK;
}
