/* Expected: function_error, with a message that names status 77, since the function gave none. */
#include "orchid/function.h"

ORCHID_ENTRY(returns_status) {
  (void)call, (void)input, (void)input_size;
  return 77;
}
