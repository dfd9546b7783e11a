// jit/unused_code.h: what nothing reachable from an entry uses is neither compiled nor asked for.
#pragma once
#include <llvm/IR/Module.h>

namespace orchid::executor {

/// After `retarget`, which makes everything but entries and effects internal.
void drop_unused(llvm::Module& code);

}  // namespace orchid::executor
