#include "jit/undefined_symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Demangle/Demangle.h>

#include <algorithm>

#include "runtime_symbols/runtime_symbols.h"

namespace orchid::executor {
namespace {

std::string display(const std::string& name) {
  const std::string readable = llvm::demangle(name);
  return readable == name ? name : fmt::format("{} [{}]", readable, name);
}

/// A weak one may stay null.
bool must_be_provided(llvm::GlobalValue& value) {
  if (!value.isDeclarationForLinker() || value.hasExternalWeakLinkage()) return false;
  if (const auto* function = llvm::dyn_cast<llvm::Function>(&value);
      function != nullptr && function->isIntrinsic())
    return false;
  value.removeDeadConstantUsers();
  return !value.use_empty();
}

}  // namespace

UndefinedSymbols read_undefined_symbols(llvm::Module& code, std::string_view architecture) {
  UndefinedSymbols undefined;
  std::vector<std::string> foreign_thread_locals;
  for (llvm::GlobalValue& value : code.global_values()) {
    if (!must_be_provided(value)) continue;
    undefined.names.push_back(value.getName().str());
    if (value.isThreadLocal()) foreign_thread_locals.push_back(display(undefined.names.back()));
  }
  std::ranges::sort(undefined.names);
  if (!foreign_thread_locals.empty())
    undefined.problems.push_back(fmt::format(
        "thread-local variables of the host's libraries cannot be used: {} (std::call_once needs "
        "some; use a static variable instead)",
        fmt::join(foreign_thread_locals, ", ")));
  std::vector<std::string> missing;
  for (const std::string& name : missing_symbols(undefined.names, architecture)) {
    missing.push_back(display(name));
    if (const auto reason = refusal_reason(name); !reason.empty())
      missing.back() += fmt::format(" ({})", reason);
  }
  if (!missing.empty())
    undefined.problems.push_back(
        fmt::format("these symbols are defined neither in the module nor by Orchid: {}",
                    fmt::join(missing, ", ")));
  return undefined;
}

}  // namespace orchid::executor
