// matmul_kernel.h: c += a b for square matrices, written as a textbook has it: as fast as the
// compiler's vectoriser makes it.
#pragma once
#include <cstddef>

namespace matmul {

inline void multiply(double* __restrict c, const double* a, const double* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) {
      const double factor = a[i * n + k];
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += factor * b[k * n + j];
    }
}

}  // namespace matmul
