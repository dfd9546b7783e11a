/* Calls what is no code. */
#include "../act.h"

ACT(jumps_to_nowhere) {
  int32_t (*volatile nowhere)(void) = (int32_t (*)(void))0x123456789abcULL;
  return nowhere() + 1;
}
