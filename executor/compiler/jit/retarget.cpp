#include "jit/retarget.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Attributes.h>
#include <llvm/Transforms/IPO/Internalize.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <set>
#include <string>

#include "jit/bitcode.h"
#include "protocol/effects.h"

namespace orchid::executor {
namespace {

void retarget_function(llvm::Function& function) {
  for (const char* attribute :
       {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width"})
    function.removeFnAttr(attribute);
  if (function.isDeclaration()) return;
  function.removeFnAttr("no-stack-arg-probe");
  function.removeFnAttr("stack-probe-size");
  function.addFnAttr("probe-stack", "inline-asm");
  if (!function.hasFnAttribute(llvm::Attribute::UWTable))
    function.setUWTableKind(llvm::UWTableKind::Default);
}

bool is_manifest_data(llvm::StringRef name) {
  return name.starts_with(signature_prefix) || name == llvm::StringRef(abi_version_name);
}

}  // namespace

void retarget(llvm::Module& code, const HostTarget& host) {
  code.setTargetTriple(host.triple.str());
  code.setDataLayout(host.data_layout);
  for (llvm::Function& function : code) retarget_function(function);
  // Compilers promise for some of the host's symbols that they are near (all of them without PIC,
  // __dso_handle always); none is, so reach them through the GOT.
  for (llvm::GlobalValue& value : code.global_values()) {
    if (!value.isDeclarationForLinker()) continue;
    value.setVisibility(llvm::GlobalValue::DefaultVisibility);
    value.setDSOLocal(false);
  }

  std::set<std::string, std::less<>> entries;
  for (llvm::Function* entry : entry_functions(code)) {
    entry->setLinkage(llvm::GlobalValue::ExternalLinkage);
    entry->setVisibility(llvm::GlobalValue::DefaultVisibility);
    entry->setDLLStorageClass(llvm::GlobalValue::DefaultStorageClass);
    entry->setComdat(nullptr);
    entries.insert(entry->getName().str());
  }
  // The manifest has been read from these; nothing at run time looks at them.
  llvm::removeFromUsedLists(code, [](llvm::Constant* used) {
    const auto* value = llvm::dyn_cast<llvm::GlobalValue>(used->stripPointerCasts());
    return value != nullptr && is_manifest_data(value->getName());
  });
  // A worker finds the module's effects by them.
  llvm::internalizeModule(code, [&](const llvm::GlobalValue& value) {
    return entries.contains(std::string_view(value.getName().data(), value.getName().size())) ||
           value.getName().starts_with(llvm::StringRef(effect_prefix));
  });
}

}  // namespace orchid::executor
