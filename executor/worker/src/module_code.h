// worker/module_code.h: from a module's compiled code to entries that can be called.
#pragma once
#include <memory>
#include <string>

#include "foundation/result.h"
#include "hygiene.h"
#include "jit/linker.h"

namespace orchid::executor {

/// `code`: a sealed memory file of the compiler's, borrowed. Errors: as of `link`.
[[nodiscard]] Result<std::unique_ptr<LinkedModule>> link_code(int code);

/// Its calls may not be repeated (protocol/effects.h).
[[nodiscard]] bool has_effects(const LinkedModule& module);

/// Runs what runs before the first call. Returns why that failed, or nothing.
[[nodiscard]] std::string initialise(LinkedModule& module, const Hygiene& hygiene);

}  // namespace orchid::executor
