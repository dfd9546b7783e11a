// matmul_module.cpp: the kernel as a function: two matrices of the same size in, their product out.
#include <cmath>

#include "matmul_kernel.h"
#include "orchid/function.h"

ORCHID_ENTRY(matmul) {
  const auto n = static_cast<std::size_t>(std::sqrt(static_cast<double>(input_size / 16)));
  const auto* a = static_cast<const double*>(input);
  auto* c = static_cast<double*>(orchid_output(call, n * n * sizeof(double)));
  if (c == nullptr) return ORCHID_ERROR;
  for (std::size_t i = 0; i < n * n; ++i) c[i] = 0;
  matmul::multiply(c, a, a + n * n, n);
  return ORCHID_OK;
}
