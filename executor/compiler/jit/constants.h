// jit/constants.h: the named constants of a module, set to other values before it is compiled.
#pragma once
#include <llvm/IR/Module.h>

#include <string_view>

#include "foundation/result.h"

namespace orchid::executor {

/// `constants`: as in protocol/constants.h. Each one's symbol has to be a constant number, or an
/// array of numbers, of that many bytes. Errors: `module_rejected`, naming the first that is wrong.
[[nodiscard]] Result<void> set_constants(llvm::Module& code, std::string_view constants);

}  // namespace orchid::executor
