// jit/device_code.h: the code of an image for nvptx64, before a back end sees it.
#pragma once
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

namespace orchid::executor {

/// Leaves the kernels of an image for nvptx64 and what they reach; returns, sorted, what they need
/// and PTX does not provide: LLVM's back end would end the process at those.
[[nodiscard]] std::vector<std::string> drop_unused_of_device(llvm::Module& code);

/// What to say about those names, if there are any.
[[nodiscard]] std::string describe_missing_on_device(const std::vector<std::string>& names);

}  // namespace orchid::executor
