// module/ptx.h: what a PTX text says of its kernels, as nvcc writes it. Users upload such texts:
// this is bounds-checked code of our own, which reads declarations and no instructions.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/units.h"
#include "module/manifest.h"

namespace orchid::module {

constexpr ByteCount longest_ptx = 16_MiB;

/// A value.
struct PtxText {
  std::string version;  // of PTX: "9.0"
  std::string target;   // "sm_75"
  /// Of functions called `orchid_kernel_NAME`, sorted by name. Size and alignment of the arguments
  /// are those of the first parameter. Group size and local memory are known only where the text
  /// has `orchid_kernel_layout_NAME`; else they are 0.
  std::vector<Kernel> kernels;
  std::vector<std::string> problems;  // kernels that do not take (Args, uint64_t, uint64_t), …
};

/// Whether it is text, of a length that is read, and begins as PTX does. Errors: `module_rejected`.
[[nodiscard]] Result<void> check_ptx(std::span<const std::byte> bytes);

/// Errors: `module_rejected`.
[[nodiscard]] Result<PtxText> read_ptx(std::span<const std::byte> bytes);

}  // namespace orchid::module
