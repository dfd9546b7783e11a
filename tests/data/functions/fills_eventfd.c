/* Expected: ok, and then the worker ends: it fills an eventfd of its lane. Input: which descriptor
 * (4 wakes the worker, 5 its caller). */
#include <stdint.h>

#include "orchid/function.h"
#include "raw_call.h"

ORCHID_ENTRY(fills_eventfd) {
  (void)call;
  static uint64_t all = ~(uint64_t)0 - 1;
  const int descriptor = input_size > 0 && *(const char*)input == '5' ? 5 : 4;
  const long arguments[6] = {descriptor, (long)&all, sizeof all};
#if defined(__x86_64__)
  raw_call(1, arguments);
#else
  raw_call(64, arguments);
#endif
  return ORCHID_OK;
}
