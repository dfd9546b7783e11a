/* Runs machine code that it has written itself: it asks for a child process, and is as confined as
 * any other code. */
#include <sys/mman.h>

#include "../act.h"

ACT(runs_own_code) {
#if defined(__x86_64__)
  static const unsigned char fork_and_return[] = {0xb8, 57, 0, 0, 0, 0x0f, 0x05, 0xc3};
  char* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return ORCHID_ERROR;
  memcpy(code, fork_and_return, sizeof fork_and_return);
  if (mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0) return say(call, "all refused");
  const long result = ((long (*)(void))code)();
  munmap(code, 4096);
  return say(call, result == -EPERM ? "all refused" : "a child");
#else
  return say(call, "all refused");
#endif
}
