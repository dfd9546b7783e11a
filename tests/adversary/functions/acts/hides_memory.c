/* Takes more memory than its limit, of which the kernel counts only what can be written to. */
#include <sys/mman.h>

#include "../act.h"

ACT(hides_memory) {
  const size_t size = (size_t)256 << 20;
  for (int block = 0; block < 6; ++block) {
    char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return say(call, "refused");
    for (size_t at = 0; at < size; at += 4096) memory[at] = 1;
    mprotect(memory, size, PROT_READ);
  }
  for (;;) {
  }
}
