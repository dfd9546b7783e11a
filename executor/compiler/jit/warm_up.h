// jit/warm_up.h: a small module with a bit of everything, compiled once before a process is
// confined: later nothing is opened any more, and the first real module finds code and tables in
// memory.
#pragma once
#include <llvm/IR/Module.h>

#include <memory>

namespace orchid::executor {

[[nodiscard]] std::unique_ptr<llvm::Module> make_warm_up_module(llvm::LLVMContext& context);

}  // namespace orchid::executor
