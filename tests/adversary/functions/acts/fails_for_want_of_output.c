/* Asks for more output than there may be, and fails when it gets none. */
#include "../act.h"

ACT(fails_for_want_of_output) {
  return orchid_output(call, (size_t)1 << 40) == NULL ? ORCHID_ERROR : ORCHID_OK;
}
