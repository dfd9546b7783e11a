#include "jit/module_state.h"

#include <llvm/IR/Constants.h>

#include <algorithm>

namespace orchid::executor {
namespace {

bool is_state(llvm::GlobalVariable& variable) {
  // What the host defines is the same for all code of the worker.
  if (variable.isDeclarationForLinker()) return false;
  // llvm.used and its like end at the compiler; llvm.global_ctors and llvm.global_dtors do not.
  if (variable.getSection() == "llvm.metadata") return false;
  if (variable.hasAppendingLinkage()) {
    const auto* list = llvm::dyn_cast<llvm::ConstantArray>(variable.getInitializer());
    return list != nullptr && list->getNumOperands() != 0;
  }
  if (variable.isConstant() && !variable.isThreadLocal()) return false;
  variable.removeDeadConstantUsers();
  return !variable.use_empty();
}

}  // namespace

bool keeps_state(llvm::Module& code) { return std::ranges::any_of(code.globals(), is_state); }

}  // namespace orchid::executor
