/* Runs an instruction that is none. */
#include "../act.h"

ACT(executes_nonsense) {
#if defined(__x86_64__)
  __asm__ volatile("ud2");
#else
  __asm__ volatile("udf #0");
#endif
  return ORCHID_OK;
}
