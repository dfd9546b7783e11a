// jit/diagnostics.h: LLVM's ways of saying that something is wrong, as messages.
#pragma once
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/Error.h>

#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"

namespace orchid::executor {

/// Collects the errors that LLVM reports through a context instead of printing them and ending the
/// process. Outlives the context.
class Diagnostics {
 public:
  void attach(llvm::LLVMContext& context);
  [[nodiscard]] bool has_errors() const { return !errors_.empty(); }
  /// Errors: `module_rejected`, if there were any.
  [[nodiscard]] Result<void> result() const;

 private:
  std::vector<std::string> errors_;
};

/// Joined with "; ", cut at a length that fits a message.
[[nodiscard]] std::string join(const std::vector<std::string>& problems);
[[nodiscard]] std::unexpected<Failure> reject(std::string message);

}  // namespace orchid::executor
