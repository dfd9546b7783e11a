// A loop that wide vector registers make faster.
#include <orchid/function.h>
#include <string.h>

static void saxpy(float* restrict y, const float* restrict x, float a, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

ORCHID_ENTRY(saxpy) {
  const size_t n = input_size / (2 * sizeof(float));
  const float* x = input;
  float* y = orchid_output(call, n * sizeof(float));
  if (y == NULL) return ORCHID_ERROR;
  memcpy(y, x + n, n * sizeof(float));
  saxpy(y, x, 2.5f, n);
  return ORCHID_OK;
}
ORCHID_EXPORT const char orchid_signature_saxpy[] = "span<f32>(span<f32>)";
