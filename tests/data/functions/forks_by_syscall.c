/* Expected: the sandbox refuses: output is errno's number (not 0) as text, or function_crashed by
 * SIGSYS. No process is left over. */
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"

static long raw_fork(void) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(57L) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long number __asm__("x8") = 220; /* clone */
  register long flags __asm__("x0") = 17;   /* SIGCHLD */
  register long stack __asm__("x1") = 0;
  register long parent __asm__("x2") = 0;
  register long tls __asm__("x3") = 0;
  register long child __asm__("x4") = 0;
  __asm__ volatile("svc 0"
                   : "+r"(flags)
                   : "r"(number), "r"(stack), "r"(parent), "r"(tls), "r"(child)
                   : "memory");
  return flags;
#endif
}

ORCHID_ENTRY(forks_by_syscall) {
  (void)input, (void)input_size;
  const long result = raw_fork();
  if (result == 0) {
    for (;;) { /* the child that must not be */
    }
  }
  char text[32];
  const int size = snprintf(text, sizeof text, "%ld", result < 0 ? -result : 0L);
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}
