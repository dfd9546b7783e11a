#include <orchid/function.h>
ORCHID_ENTRY(bad_assembly) {
  __asm__ volatile("no_such_instruction %0" : : "r"(input_size));
  return ORCHID_OK;
}
