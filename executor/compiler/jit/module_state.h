// jit/module_state.h: whether a module's code can be replaced by better code between two calls.
#pragma once
#include <llvm/IR/Module.h>

namespace orchid::executor {

/// True if something in the module outlives a call: variables, or what static initialisers and
/// finalisers do. Other code for it would begin with variables of its own, and pointers to the old
/// code's constants and functions, kept in them, would not be equal to its own. For a module whose
/// symbols are internal but for its entries, without what is not used.
[[nodiscard]] bool keeps_state(llvm::Module& code);

}  // namespace orchid::executor
