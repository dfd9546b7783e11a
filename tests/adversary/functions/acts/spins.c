/* Computes for ever. */
#include "../act.h"

ACT(spins) {
  spin_for_ever();
  return ORCHID_OK;
}
