/* Expected: the call gets an outcome, and the next call works: as closes_descriptors, past any list
 * of allowed symbols. */
#include "orchid/function.h"

static void raw_close(long descriptor) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(3L), "D"(descriptor) : "rcx", "r11", "memory");
  (void)result;
#elif defined(__aarch64__)
  register long number __asm__("x8") = 57;
  register long argument __asm__("x0") = descriptor;
  __asm__ volatile("svc 0" : "+r"(argument) : "r"(number) : "memory");
#endif
}

ORCHID_ENTRY(closes_descriptors_by_syscall) {
  (void)call, (void)input, (void)input_size;
  for (long descriptor = 0; descriptor < 1024; ++descriptor) raw_close(descriptor);
  return ORCHID_OK;
}
