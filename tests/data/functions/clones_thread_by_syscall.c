/* Expected: ok, output "0": a thread is possible. It is left running without the C library's
 * knowledge, so the worker is replaced after its answer. */
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"

static char child_stack[1 << 16] __attribute__((aligned(64)));

/* The flags that pthread_create gives: VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, SETTLS,
 * PARENT_SETTID and CHILD_CLEARTID; it asks for no area of its own, and its number goes nowhere. */
static long raw_thread(void) {
#if defined(__x86_64__)
  long result;
  register long parent __asm__("rdx") = 0;
  register long child __asm__("r10") = 0;
  register long tls __asm__("r8") = 0;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 2f\n"
      "1: pause\n\t"
      "jmp 1b\n"
      "2:\n"
      : "=a"(result)
      : "a"(56L), "D"(0x3d0f00L), "S"(child_stack + sizeof child_stack), "r"(parent), "r"(child),
        "r"(tls)
      : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long number __asm__("x8") = 220;
  register long result __asm__("x0") = 0x3d0f00;
  register char* stack __asm__("x1") = child_stack + sizeof child_stack;
  register long parent __asm__("x2") = 0;
  register long tls __asm__("x3") = 0;
  register long child __asm__("x4") = 0;
  __asm__ volatile(
      "svc 0\n\t"
      "cbnz x0, 2f\n"
      "1: yield\n\t"
      "b 1b\n"
      "2:\n"
      : "+r"(result)
      : "r"(number), "r"(stack), "r"(parent), "r"(tls), "r"(child)
      : "memory");
  return result;
#endif
}

ORCHID_ENTRY(clones_thread_by_syscall) {
  (void)input, (void)input_size;
  const long result = raw_thread();
  char text[32];
  const int size = snprintf(text, sizeof text, "%ld", result < 0 ? -result : 0L);
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}
