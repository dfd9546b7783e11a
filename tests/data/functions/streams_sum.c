/* Expected: 16 bytes at the end, and nothing before: the size of all input, and its FNV-1a sum. */
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(streams_sum) {
  const void* chunk = input;
  size_t size = input_size;
  uint64_t result[2] = {0, 0xcbf29ce484222325u};
  for (int32_t next = ORCHID_CHUNK; next == ORCHID_CHUNK;
       next = orchid_exchange(call, &chunk, &size)) {
    const unsigned char* bytes = chunk;
    for (size_t i = 0; i < size; ++i) result[1] = (result[1] ^ bytes[i]) * 0x100000001b3u;
    result[0] += size;
  }
  void* output = orchid_append(call, sizeof result);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, result, sizeof result);
  return ORCHID_OK;
}
