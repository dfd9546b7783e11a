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

/// The newest GPU of those whose PTX this one can run, too: itself, if it is known; or a driver
/// compiles what is for an older one. Empty: it is older than all, or no name of one.
[[nodiscard]] std::string_view known_gpu_for(std::string_view gpu);

/// Errors: `bad_request` (an unknown GPU), `not_found` (no image for nvptx64), `module_rejected`.
[[nodiscard]] Result<std::string> generate_ptx(std::span<const std::byte> module,
                                               std::string_view gpu);

}  // namespace orchid::executor
