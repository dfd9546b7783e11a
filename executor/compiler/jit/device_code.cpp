#include "jit/device_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/IPO/Internalize.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "jit/kernels.h"
#include "jit/unused_code.h"

namespace orchid::executor {
namespace {

/// What PTX's own runtime and LLVM's passes give: a call of it is not an undefined symbol.
constexpr std::array<std::string_view, 5> provided{"__assertfail", "__nvvm_reflect", "free",
                                                   "malloc", "vprintf"};

/// The intrinsics that the back end turns into calls of a libm that devices do not have.
std::optional<std::string_view> libm_name(llvm::Intrinsic::ID intrinsic) {
  switch (intrinsic) {
    case llvm::Intrinsic::pow:
    case llvm::Intrinsic::powi:
      return "pow";
    case llvm::Intrinsic::exp:
      return "exp";
    case llvm::Intrinsic::exp2:
      return "exp2";
    case llvm::Intrinsic::exp10:
      return "exp10";
    case llvm::Intrinsic::log:
      return "log";
    case llvm::Intrinsic::log2:
      return "log2";
    case llvm::Intrinsic::log10:
      return "log10";
    case llvm::Intrinsic::sin:
      return "sin";
    case llvm::Intrinsic::cos:
      return "cos";
    case llvm::Intrinsic::tan:
      return "tan";
    default:
      return std::nullopt;
  }
}

std::string math_function(std::string_view name, const llvm::Type& type) {
  return std::string(name) + (type.getScalarType()->isFloatTy() ? "f" : "");
}

}  // namespace

std::vector<std::string> drop_unused_of_device(llvm::Module& code) {
  const auto is_kernel = [](const llvm::GlobalValue& value) {
    const std::string_view name(value.getName().data(), value.getName().size());
    return llvm::isa<llvm::Function>(value) && !value.isDeclarationForLinker() &&
           name.starts_with(kernel_prefix);
  };
  llvm::removeFromUsedLists(code, [](llvm::Constant*) { return true; });
  llvm::internalizeModule(code, is_kernel);
  drop_unused(code);
  std::set<std::string> missing;
  for (llvm::GlobalValue& value : code.global_values()) {
    if (!value.isDeclarationForLinker()) continue;
    if (const auto* function = llvm::dyn_cast<llvm::Function>(&value);
        function != nullptr && function->isIntrinsic())
      continue;
    value.removeDeadConstantUsers();
    const std::string name = value.getName().str();
    if (!value.use_empty() && std::ranges::find(provided, name) == provided.end())
      missing.insert(name);
  }
  for (const llvm::Function& function : code)
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        if (const auto name = libm_name(call->getIntrinsicID()))
          missing.insert(math_function(*name, *call->getType()));
  return {missing.begin(), missing.end()};
}

std::string describe_missing_on_device(const std::vector<std::string>& names) {
  return fmt::format(
      "the image for nvptx64 needs functions that a GPU does not have: {}; libm's come from "
      "libdevice: build where the CUDA toolkit is installed, or with CUDA_HOME set",
      fmt::join(names, ", "));
}

}  // namespace orchid::executor
