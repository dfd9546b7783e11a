// Expected: function_error, with the message "this did not go well".
#include <stdexcept>

#include "orchid/function.h"

ORCHID_ENTRY(throws_runtime_error) {
  (void)call, (void)input, (void)input_size;
  throw std::runtime_error("this did not go well");
}
