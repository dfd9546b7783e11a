// module/npy.h: reads NumPy's .npy files (format 1 to 3, little-endian, C order) as arrays for
// typed entries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "foundation/result.h"
#include "module/signature.h"

namespace orchid::module {

/// Borrows the bytes that it was read from. `data` has exactly the product of `shape` elements, in
/// C order.
struct NpyArray {
  Scalar element = Scalar::f64;
  std::vector<std::uint64_t> shape;  // empty: a single number
  std::span<const std::byte> data;
  [[nodiscard]] std::uint64_t count() const { return data.size() / size_of(element); }
};

/// Errors: `bad_request`, with the NumPy call that makes a readable file.
[[nodiscard]] Result<NpyArray> read_npy(std::span<const std::byte> file);

}  // namespace orchid::module
