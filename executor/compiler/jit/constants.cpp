#include "jit/constants.h"

#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/APInt.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DerivedTypes.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "jit/diagnostics.h"
#include "protocol/constants.h"

namespace orchid::executor {
namespace {

using Bytes = std::span<const std::byte>;

llvm::StringRef text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Those whose bytes in memory are their bits, and no more.
bool is_plain_number(const llvm::Type& type) {
  if (type.isFloatTy() || type.isDoubleTy()) return true;
  return type.isIntegerTy(8) || type.isIntegerTy(16) || type.isIntegerTy(32) ||
         type.isIntegerTy(64);
}

/// Null: it is of another kind, or has another size. Both ends are little-endian, as all hosts are.
llvm::Constant* value_of(llvm::Type& type, Bytes bytes) {
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(&type)) {
    llvm::Type& element = *array->getElementType();
    if (!is_plain_number(element) ||
        bytes.size() != array->getNumElements() * (element.getPrimitiveSizeInBits() / 8))
      return nullptr;
    return llvm::ConstantDataArray::getRaw(text_of(bytes), array->getNumElements(), &element);
  }
  if (!is_plain_number(type) || bytes.size() != type.getPrimitiveSizeInBits() / 8) return nullptr;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  const llvm::APInt bits(static_cast<unsigned>(8 * bytes.size()), word);
  if (type.isIntegerTy()) return llvm::ConstantInt::get(type.getContext(), bits);
  return llvm::ConstantFP::get(type.getContext(), llvm::APFloat(type.getFltSemantics(), bits));
}

Result<void> set_constant(llvm::Module& code, const Constant& constant) {
  const std::string symbol = std::string(constant_prefix) + constant.name;
  llvm::GlobalVariable* const variable = code.getNamedGlobal(symbol);
  if (variable == nullptr || !variable->hasInitializer() || !variable->isConstant())
    return reject("the module has no constant '" + constant.name +
                  "': it is written ORCHID_CONSTANT(type, " + constant.name + ", value)");
  const std::uint64_t size =
      code.getDataLayout().getTypeAllocSize(variable->getValueType()).getFixedValue();
  if (size != constant.value.size())
    return reject("the constant '" + constant.name + "' has " + std::to_string(size) +
                  " bytes, and is to be set to " + std::to_string(constant.value.size()));
  llvm::Constant* const value = value_of(*variable->getValueType(), constant.value);
  if (value == nullptr)
    return reject("the constant '" + constant.name +
                  "' is no number and no array of numbers, which can be set");
  variable->setInitializer(value);
  return {};
}

}  // namespace

Result<void> set_constants(llvm::Module& code, std::string_view constants) {
  const auto all = parse_constants(constants);
  if (!all) return fail(all.error());
  for (const Constant& constant : *all)
    if (auto set = set_constant(code, constant); !set) return set;
  return {};
}

}  // namespace orchid::executor
