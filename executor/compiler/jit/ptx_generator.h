// jit/ptx_generator.h: from an image for nvptx64 to PTX, the text that a driver of NVIDIA compiles.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "foundation/result.h"

namespace orchid::executor {

/// Once, before a process confines itself.
void start_ptx_back_end();

/// Whether PTX can be made for it: "sm_75" and those that LLVM knows above.
[[nodiscard]] bool is_known_gpu(std::string_view gpu);

/// For one that LLVM does not know, the PTX that LLVM makes is for the newest older one: a driver
/// compiles that. PTX of the module is chosen for the GPU itself.
/// Errors: `bad_request` (it is older than all that are known, or no name of one), `not_found` (no
/// image for nvptx64), `module_rejected`.
[[nodiscard]] Result<std::string> generate_ptx(std::span<const std::byte> module,
                                               std::string_view gpu);

}  // namespace orchid::executor
