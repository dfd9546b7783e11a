/* Expected: ok, output is the input's doubles, each times 3 plus 1. Made of one plain loop: the
 * object for a host with AVX uses AVX registers. */
#include "orchid/function.h"

ORCHID_ENTRY(scales_vector) {
  const size_t count = input_size / sizeof(double);
  const double* restrict in = input;
  double* restrict out = orchid_output(call, count * sizeof(double));
  if (out == NULL) return ORCHID_ERROR;
  for (size_t i = 0; i < count; ++i) out[i] = in[i] * 3 + 1;
  return ORCHID_OK;
}
