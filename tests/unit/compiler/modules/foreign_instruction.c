// An instruction that processors had for a few years only (TBM); LLVM ends the process when a host
// lacks it.
#include <orchid/function.h>
unsigned __builtin_ia32_bextri_u32(unsigned, unsigned);
__attribute__((target("tbm"))) static unsigned extract(unsigned value) {
  return __builtin_ia32_bextri_u32(value, 0x0404);
}
__attribute__((target("tbm"))) ORCHID_ENTRY(foreign_instruction) {
  return (int32_t)extract((unsigned)input_size);
}
