/* Expected: ok; it leaves the processor with strings that run downwards. */
#include "orchid/function.h"

ORCHID_ENTRY(changes_flags) {
  (void)call, (void)input, (void)input_size;
#if defined(__x86_64__)
  __asm__ volatile("std");
#endif
  return ORCHID_OK;
}
