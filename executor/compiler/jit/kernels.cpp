#include "jit/kernels.h"

#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <optional>

#include "protocol/limits.h"
#include "protocol/names.h"

namespace orchid::executor {
namespace {

using Layout = std::array<std::uint32_t, 4>;

llvm::StringRef as_reference(std::string_view text) { return {text.data(), text.size()}; }

/// Four words of a constant. Nothing: they are not there, or not known before it is linked.
std::optional<Layout> read_words(const llvm::Module& code, const llvm::GlobalVariable& variable,
                                 std::uint64_t offset) {
  llvm::Type* word = llvm::Type::getInt32Ty(code.getContext());
  Layout words{};
  for (std::uint32_t& one : words) {
    const auto* value = llvm::dyn_cast_or_null<llvm::ConstantInt>(
        llvm::ConstantFoldLoadFromConst(const_cast<llvm::Constant*>(variable.getInitializer()),
                                        word, llvm::APInt(64, offset), code.getDataLayout()));
    if (value == nullptr) return std::nullopt;
    one = static_cast<std::uint32_t>(value->getZExtValue());
    offset += sizeof one;
  }
  return words;
}

bool is_constant_of_size(const llvm::Module& code, const llvm::GlobalVariable& variable,
                         std::uint64_t size) {
  return variable.isConstant() && variable.hasInitializer() &&
         code.getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue() == size;
}

std::optional<Layout> read_layout(const llvm::Module& code, const llvm::GlobalVariable& variable) {
  if (!is_constant_of_size(code, variable, sizeof(Layout))) return std::nullopt;
  return read_words(code, variable, 0);
}

/// void (const void* args, uint64_t begin, uint64_t end)
bool has_core_kernel_type(const llvm::Function& function) {
  const llvm::FunctionType* type = function.getFunctionType();
  return type->getReturnType()->isVoidTy() && !type->isVarArg() && type->getNumParams() == 3 &&
         type->getParamType(0)->isPointerTy() && type->getParamType(1)->isIntegerTy(64) &&
         type->getParamType(2)->isIntegerTy(64);
}

/// void (Args, uint64_t begin, uint64_t end), the arguments by value.
bool has_device_kernel_type(const llvm::Function& function, std::uint32_t args_size) {
  const llvm::FunctionType* type = function.getFunctionType();
  if (!type->getReturnType()->isVoidTy() || type->isVarArg() || type->getNumParams() != 3 ||
      !type->getParamType(1)->isIntegerTy(64) || !type->getParamType(2)->isIntegerTy(64))
    return false;
  llvm::Type* args = function.hasParamAttribute(0, llvm::Attribute::ByVal)
                         ? function.getParamByValType(0)
                         : type->getParamType(0);
  return args->isSized() &&
         function.getParent()->getDataLayout().getTypeAllocSize(args).getFixedValue() == args_size;
}

bool is_marked_as_kernel(const llvm::Function& function) {
  if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel) return true;
  const llvm::NamedMDNode* notes = function.getParent()->getNamedMetadata("nvvm.annotations");
  if (notes == nullptr) return false;
  return std::ranges::any_of(notes->operands(), [&](const llvm::MDNode* note) {
    if (note->getNumOperands() < 2) return false;
    const auto* value = llvm::dyn_cast_or_null<llvm::ValueAsMetadata>(note->getOperand(0).get());
    const auto* kind = llvm::dyn_cast_or_null<llvm::MDString>(note->getOperand(1).get());
    return value != nullptr && value->getValue() == &function && kind != nullptr &&
           kind->getString() == "kernel";
  });
}

class KernelReader {
 public:
  explicit KernelReader(llvm::Module& code)
      : code_(code), for_device_(llvm::Triple(code.getTargetTriple()).isNVPTX()) {}

  KernelList read() {
    for (const llvm::GlobalVariable& variable : code_.globals()) {
      if (variable.isDeclarationForLinker()) continue;
      if (!variable.getName().starts_with(as_reference(kernel_layout_prefix))) continue;
      read_one(variable);
    }
    if (!for_device_) read_declared();
    std::ranges::sort(list_.kernels, {}, &module::Kernel::name);
    if (list_.kernels.size() > limits::kernels_per_module)
      list_.problems.push_back(fmt::format("the module has {} kernels, more than {}",
                                           list_.kernels.size(), limits::kernels_per_module));
    find_kernels_without_layout();
    return std::move(list_);
  }

 private:
  void read_one(const llvm::GlobalVariable& variable) {
    const std::string name = variable.getName().substr(kernel_layout_prefix.size()).str();
    if (!is_entry_name(name)) {
      list_.problems.push_back(fmt::format(
          "'{}' is not a name for a kernel: use letters, digits and '_', at most 128", name));
      return;
    }
    const auto layout = read_layout(code_, variable);
    if (!layout || !std::has_single_bit((*layout)[1])) {
      list_.problems.push_back(fmt::format(
          "'{}{}' must be a const uint32_t[4] with the layout of the arguments; include "
          "orchid/kernel.h",
          kernel_layout_prefix, name));
      return;
    }
    list_.kernels.push_back({.name = name,
                             .args_size = (*layout)[0],
                             .args_alignment = (*layout)[1],
                             .group_size = (*layout)[2],
                             .local_bytes = (*layout)[3],
                             .on_cores = true});
    check_function(list_.kernels.back());
  }

  /// Of ORCHID_DECLARE_KERNEL: an orchid_kernel whose second pointer, to the code for cores, is
  /// null.
  void read_declared() {
    constexpr std::uint64_t pointer = 8;
    constexpr std::uint64_t words = 2 * pointer;
    for (const llvm::GlobalVariable& variable : code_.globals()) {
      if (variable.isDeclarationForLinker() ||
          !variable.getName().starts_with(as_reference(kernel_info_prefix)) ||
          !is_constant_of_size(code_, variable, words + sizeof(Layout)))
        continue;
      const auto* run =
          llvm::ConstantFoldLoadFromConst(const_cast<llvm::Constant*>(variable.getInitializer()),
                                          llvm::PointerType::getUnqual(code_.getContext()),
                                          llvm::APInt(64, pointer), code_.getDataLayout());
      if (run == nullptr || !run->isNullValue()) continue;
      const std::string name = variable.getName().substr(kernel_info_prefix.size()).str();
      const auto layout = read_words(code_, variable, words);
      if (!is_entry_name(name) || !layout || !std::has_single_bit((*layout)[1])) {
        list_.problems.push_back(fmt::format(
            "'{}{}' is no declaration of a kernel; use ORCHID_DECLARE_KERNEL of orchid/kernel.h",
            kernel_info_prefix, name));
        continue;
      }
      list_.kernels.push_back({.name = name,
                               .args_size = (*layout)[0],
                               .args_alignment = (*layout)[1],
                               .group_size = (*layout)[2],
                               .local_bytes = (*layout)[3],
                               .on_cores = false});
    }
  }

  void check_function(const module::Kernel& kernel) {
    const std::string symbol = std::string(kernel_prefix) + kernel.name;
    const llvm::Function* function = code_.getFunction(symbol);
    if (function == nullptr || function->isDeclarationForLinker() || function->hasLocalLinkage()) {
      list_.problems.push_back(fmt::format(
          "kernel '{}' has a layout but no function '{}'; use ORCHID_KERNEL", kernel.name, symbol));
      return;
    }
    if (for_device_
            ? has_device_kernel_type(*function, kernel.args_size) && is_marked_as_kernel(*function)
            : has_core_kernel_type(*function))
      return;
    list_.problems.push_back(
        for_device_
            ? fmt::format("kernel '{}' must be a kernel void {}(Args, uint64_t begin, uint64_t "
                          "end) with {} bytes of arguments by value in an image for a GPU; use "
                          "ORCHID_KERNEL",
                          kernel.name, symbol, kernel.args_size)
            : fmt::format("kernel '{}' must be void {}(const void* args, uint64_t begin, uint64_t "
                          "end); use ORCHID_KERNEL",
                          kernel.name, symbol));
  }

  void find_kernels_without_layout() {
    for (const llvm::Function& function : code_) {
      if (function.isDeclarationForLinker() || function.hasLocalLinkage() ||
          !function.getName().starts_with(as_reference(kernel_prefix)))
        continue;
      const std::string name = function.getName().substr(kernel_prefix.size()).str();
      const llvm::GlobalVariable* layout =
          code_.getGlobalVariable(std::string(kernel_layout_prefix) + name, true);
      if (layout == nullptr || layout->isDeclarationForLinker())
        list_.problems.push_back(
            fmt::format("kernel '{}' has no '{}{}' that tells the layout of its arguments; use "
                        "ORCHID_KERNEL",
                        name, kernel_layout_prefix, name));
    }
  }

  llvm::Module& code_;
  bool for_device_;
  KernelList list_;
};

}  // namespace

std::vector<std::string> layout_differences(const module::Kernel& one, std::string_view one_name,
                                            const module::Kernel& other,
                                            std::string_view other_name) {
  std::vector<std::string> problems;
  const auto compare = [&](std::string_view what, std::uint32_t a, std::uint32_t b) {
    if (a != b)
      problems.push_back(
          fmt::format("kernel '{}': {} is {} in the image for {} and {} in that for "
                      "{}",
                      one.name, what, a, one_name, b, other_name));
  };
  compare("the size of the arguments", one.args_size, other.args_size);
  compare("the alignment of the arguments", one.args_alignment, other.args_alignment);
  const bool both_tell = one.on_cores && other.on_cores;
  if (both_tell || (one.group_size > 0 && other.group_size > 0))
    compare("the group size", one.group_size, other.group_size);
  if (one.local_bytes > 0 && other.local_bytes > 0)
    compare("the size of local memory", one.local_bytes, other.local_bytes);
  return problems;
}

KernelList read_kernels(llvm::Module& code) { return KernelReader(code).read(); }

std::vector<std::string> kernel_differences(const std::vector<module::Kernel>& one,
                                            std::string_view one_name,
                                            const std::vector<module::Kernel>& other,
                                            std::string_view other_name) {
  std::vector<std::string> problems;
  const auto missing = [&](const std::string& kernel, std::string_view where) {
    problems.push_back(fmt::format("kernel '{}' is missing in the image for {}", kernel, where));
  };
  for (const module::Kernel& kernel : one) {
    const auto twin = std::ranges::lower_bound(other, kernel.name, {}, &module::Kernel::name);
    if (twin == other.end() || twin->name != kernel.name)
      missing(kernel.name, other_name);
    else
      std::ranges::move(layout_differences(kernel, one_name, *twin, other_name),
                        std::back_inserter(problems));
  }
  for (const module::Kernel& kernel : other)
    if (!std::ranges::binary_search(one, kernel.name, {}, &module::Kernel::name))
      missing(kernel.name, one_name);
  return problems;
}

}  // namespace orchid::executor
