// Expected: function_error, with a message that says that something which is no std::exception was
// thrown.
#include "orchid/function.h"

ORCHID_ENTRY(throws_int) {
  (void)call, (void)input, (void)input_size;
  throw 7;
}
