/* Writes to an address where nothing is. */
#include "../act.h"

ACT(writes_to_nowhere) {
  *(volatile int*)8 = 1;
  return ORCHID_OK;
}
