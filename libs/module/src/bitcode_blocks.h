// src/bitcode_blocks.h: the outermost structure of LLVM bitcode: enough to see that a file is
// whole.
#pragma once
#include <cstddef>
#include <span>

#include "foundation/result.h"

namespace orchid::module {

[[nodiscard]] bool has_bitcode_magic(std::span<const std::byte> bytes);
[[nodiscard]] bool has_bitcode_wrapper_magic(std::span<const std::byte> bytes);

/// The bitcode inside Darwin's wrapper head. Errors: `module_rejected`.
[[nodiscard]] Result<std::span<const std::byte>> unwrap_bitcode(std::span<const std::byte> bytes);

/// Walks the top-level blocks and checks that each lies inside and that one of them is a module.
/// Errors: `module_rejected`.
[[nodiscard]] Result<void> check_bitcode_blocks(std::span<const std::byte> bytes);

}  // namespace orchid::module
