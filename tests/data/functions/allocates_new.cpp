// Expected: limit_exceeded (memory), or function_error from std::bad_alloc: allocates and touches
// without end.
#include <cstring>

#include "orchid/function.h"

ORCHID_ENTRY(allocates_new) {
  (void)call, (void)input, (void)input_size;
  constexpr std::size_t step = 16 << 20;
  for (;;) {
    char* block = new char[step];
    std::memset(block, 1, step);
    asm volatile("" : : "r"(block) : "memory");
  }
}
