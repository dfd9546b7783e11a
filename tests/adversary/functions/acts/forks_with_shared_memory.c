/* Starts a process that shares the worker's memory: vfork, and clone with one table after another.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>

#include "../act.h"

#if defined(__x86_64__)
static char stack[1 << 16] __attribute__((aligned(64)));

/* The child ends at once, on a stack of its own. */
static long clone_and_end(long flags) {
  long result;
  register long none __asm__("r10") = 0;
  register long also_none __asm__("r8") = 0;
  __asm__ volatile(
      "syscall; test %%rax, %%rax; jnz 1f; mov $60, %%eax; xor %%edi, %%edi; syscall; 1:"
      : "=a"(result)
      : "a"((long)SYS_clone), "D"(flags), "S"(stack + sizeof stack), "d"(0L), "r"(none),
        "r"(also_none)
      : "rcx", "r11", "memory");
  return result;
}
#endif

ACT(forks_with_shared_memory) {
  struct tries tries = {{0}, 0};
#if defined(__x86_64__)
  note_try(&tries, "vfork", clone_and_end(CLONE_VM | CLONE_VFORK | SIGCHLD));
  note_try(&tries, "memory", clone_and_end(CLONE_VM | SIGCHLD));
  note_try(&tries, "handlers", clone_and_end(CLONE_VM | CLONE_SIGHAND | SIGCHLD));
  note_try(&tries, "tables", clone_and_end(CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_IO));
#endif
  return say_tries(call, &tries);
}
