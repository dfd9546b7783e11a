// An instruction that not every processor has, and the one that compiles this perhaps neither: of
// TBM, which x86 processors had for a few years only, and of SVE. LLVM ends the process when a host
// lacks it.
#include <orchid/function.h>
#if defined(__x86_64__)
#define FEATURE __attribute__((target("tbm")))
unsigned __builtin_ia32_bextri_u32(unsigned, unsigned);
FEATURE static unsigned extract(unsigned value) { return __builtin_ia32_bextri_u32(value, 0x0404); }
#elif defined(__aarch64__)
#define FEATURE __attribute__((target("sve")))
FEATURE static unsigned extract(unsigned value) {
  return value + (unsigned)__builtin_sve_svcntb_pat(31);
}
#endif
FEATURE ORCHID_ENTRY(foreign_instruction) { return (int32_t)extract((unsigned)input_size); }
