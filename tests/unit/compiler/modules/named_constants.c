/* Returns a constant that may be set to another value, and the sum of two more. */
#include "orchid/function.h"

ORCHID_CONSTANT(uint32_t, status, 0x1234);
typedef double pair[2];
ORCHID_CONSTANT(pair, weights, {1});

ORCHID_ENTRY(named_constants) {
  double* output = (double*)orchid_output(call, sizeof(double));
  if (output != NULL) *output = orchid_constant_weights[0] + orchid_constant_weights[1];
  return (int32_t)orchid_constant_status;
}
