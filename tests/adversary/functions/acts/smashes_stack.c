/* Overwrites its own stack, return address and all. */
#include "../act.h"

ACT(smashes_stack) {
  volatile char local[16];
  volatile char* at = local;
  for (int i = 0; i < 4000; ++i) at[i] = 0x41;
  return at[8];
}
