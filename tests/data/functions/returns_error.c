/* Expected: function_error, with the message "the answer was not 42". */
#include "orchid/function.h"

ORCHID_ENTRY(returns_error) {
  (void)input, (void)input_size;
  static const char message[] = "the answer was not 42";
  orchid_error(call, message, sizeof message - 1);
  return ORCHID_ERROR;
}
