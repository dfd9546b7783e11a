/* Expected: limit_exceeded with the real limit: it overwrites the limit of its output in the
 * worker's memory. */
#include <stdint.h>
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(forges_terms) {
  (void)input, (void)input_size;
  uint64_t* words = (uint64_t*)call;
  for (int i = 0; i < 16; ++i)
    if (words[i] == 64u << 20) words[i] = ~(uint64_t)0;
  return orchid_output(call, (size_t)1 << 40) == NULL ? ORCHID_ERROR : ORCHID_OK;
}
