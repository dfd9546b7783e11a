#include "jit/inspector.h"

#include <fmt/format.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/bitcode.h"
#include "jit/code_generator.h"
#include "jit/diagnostics.h"
#include "jit/host_target.h"
#include "jit/kernels.h"
#include "jit/other_images.h"
#include "jit/ptx_generator.h"
#include "jit/retarget.h"
#include "jit/unused_code.h"
#include "jit/warm_up.h"
#include "module/signature.h"
#include "protocol/digest.h"
#include "protocol/limits.h"
#include "protocol/names.h"
#include "runtime_symbols/runtime_symbols.h"

namespace orchid::executor {
namespace {

constexpr std::uint32_t abi_version = 1;

std::string as_string(llvm::StringRef text) { return text.str(); }

/// int32_t(orchid_call*, const void*, size_t) on a 64-bit host.
bool has_entry_type(const llvm::Function& function) {
  const llvm::FunctionType* type = function.getFunctionType();
  return type->getReturnType()->isIntegerTy(32) && !type->isVarArg() && type->getNumParams() == 3 &&
         type->getParamType(0)->isPointerTy() && type->getParamType(1)->isPointerTy() &&
         type->getParamType(2)->isIntegerTy(64);
}

/// The bytes of a constant up to the first zero or its end, however the compiler has split it.
std::optional<std::string> read_text(const llvm::Module& code,
                                     const llvm::GlobalVariable& variable) {
  constexpr std::uint64_t longest = 16 * 1024;
  if (!variable.hasInitializer()) return std::nullopt;
  const llvm::DataLayout& layout = code.getDataLayout();
  const std::uint64_t size =
      std::min(layout.getTypeAllocSize(variable.getValueType()).getFixedValue(), longest);
  llvm::Type* byte = llvm::Type::getInt8Ty(code.getContext());
  std::string text;
  for (std::uint64_t i = 0; i < size; ++i) {
    const auto* value = llvm::dyn_cast_or_null<llvm::ConstantInt>(llvm::ConstantFoldLoadFromConst(
        const_cast<llvm::Constant*>(variable.getInitializer()), byte, llvm::APInt(64, i), layout));
    if (value == nullptr) return std::nullopt;
    if (value->isZero()) break;
    text.push_back(static_cast<char>(value->getZExtValue()));
  }
  return text;
}

class Inspection {
 public:
  explicit Inspection(llvm::Module& code) : code_(code) {}

  void read_entries() {
    for (const llvm::Function* function : entry_functions(code_)) {
      const std::string name = as_string(function->getName().substr(entry_prefix.size()));
      if (!is_entry_name(name))
        problem("'{}' is not a name for an entry: use letters, digits and '_', at most 128", name);
      if (!has_entry_type(*function))
        problem(
            "entry '{}' must be int32_t orchid_entry_{}(orchid_call*, const void*, size_t); "
            "include orchid/function.h",
            name, name);
      entries_.push_back({.name = name, .signature = read_signature(name)});
    }
    std::ranges::sort(entries_, {}, &module::Entry::name);
    if (entries_.empty())
      problem(
          "the module has no entry: export a function with ORCHID_ENTRY(name) of "
          "orchid/function.h, or ORCHID_FUNCTION of "
          "orchid/function.hpp");
    if (entries_.size() > limits::entries_per_module)
      problem("the module has {} entries; at most {} are allowed", entries_.size(),
              limits::entries_per_module);
  }

  void check_abi_version() {
    const llvm::GlobalVariable* variable =
        code_.getGlobalVariable(llvm::StringRef(abi_version_name), true);
    if (variable == nullptr || !variable->hasInitializer()) return;  // version 1 is meant
    const auto* value = llvm::dyn_cast<llvm::ConstantInt>(variable->getInitializer());
    if (value == nullptr || value->getBitWidth() != 32)
      problem("'{}' must be a const uint32_t; include orchid/function.h", abi_version_name);
    else if (value->getZExtValue() != abi_version)
      problem(
          "the module is for version {} of the function ABI; this Orchid has version {}: build it "
          "with this Orchid's headers",
          value->getZExtValue(), abi_version);
  }

  void read_undefined() {
    std::string foreign_thread_locals;
    for (llvm::GlobalValue& value : code_.global_values()) {
      if (!value.isDeclarationForLinker() || value.hasExternalWeakLinkage())
        continue;  // a weak one may stay null
      if (const auto* function = llvm::dyn_cast<llvm::Function>(&value);
          function != nullptr && function->isIntrinsic())
        continue;
      value.removeDeadConstantUsers();
      if (value.use_empty()) continue;
      if (value.isThreadLocal())
        foreign_thread_locals +=
            (foreign_thread_locals.empty() ? "" : ", ") + display(as_string(value.getName()));
      undefined_.push_back(as_string(value.getName()));
    }
    std::ranges::sort(undefined_);
    if (!foreign_thread_locals.empty())
      problem(
          "thread-local variables of the host's libraries cannot be used: {} (std::call_once needs "
          "some; use a static variable instead)",
          foreign_thread_locals);
    std::string missing;
    for (const std::string& name : missing_symbols(undefined_)) {
      missing += (missing.empty() ? "" : ", ") + display(name);
      if (const auto reason = refusal_reason(name); !reason.empty())
        missing += fmt::format(" ({})", reason);
    }
    if (!missing.empty())
      problem("these symbols are defined neither in the module nor by Orchid: {}", missing);
  }

  template <typename... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] std::vector<std::string>& problems() { return problems_; }
  [[nodiscard]] std::vector<module::Entry>& entries() { return entries_; }
  [[nodiscard]] std::vector<std::string>& undefined() { return undefined_; }

 private:
  static std::string display(const std::string& name) {
    const std::string readable = llvm::demangle(name);
    return readable == name ? name : fmt::format("{} [{}]", readable, name);
  }

  std::optional<std::string> read_signature(const std::string& entry) {
    const llvm::GlobalVariable* variable =
        code_.getGlobalVariable(std::string(signature_prefix) + entry, true);
    if (variable == nullptr) return std::nullopt;
    auto text = read_text(code_, *variable);
    if (!text) {
      problem("'{}{}' must be a constant string", signature_prefix, entry);
      return std::nullopt;
    }
    if (const auto parsed = module::parse_signature(*text); !parsed)
      problem("entry '{}': {}", entry, parsed.error().message);
    return text;
  }

  llvm::Module& code_;
  std::vector<std::string> problems_;
  std::vector<module::Entry> entries_;
  std::vector<std::string> undefined_;
};

class HostInspector final : public ModuleInspector {
 public:
  explicit HostInspector(HostTarget host) : host_(std::move(host)) {}
  Result<module::Manifest> inspect(std::span<const std::byte> bytes) const override;

 private:
  HostTarget host_;
};

Result<module::Manifest> HostInspector::inspect(std::span<const std::byte> bytes) const {
  Diagnostics diagnostics;
  llvm::LLVMContext context;
  diagnostics.attach(context);
  auto host_module = read_host_module(bytes, host_, context);
  if (!host_module) return fail(std::move(host_module.error()));
  if (auto read = diagnostics.result(); !read) return fail(std::move(read.error()));

  Inspection inspection(*host_module->code);
  inspection.problems() = find_code_problems(*host_module->code, host_);
  inspection.check_abi_version();
  inspection.read_entries();
  KernelList kernels = read_kernels(*host_module->code);
  std::ranges::move(kernels.problems, std::back_inserter(inspection.problems()));
  // As before code is made: what no entry reaches needs nothing.
  retarget(*host_module->code, host_);
  drop_unused(*host_module->code);
  inspection.read_undefined();

  module::Manifest manifest{
      .abi = abi_version, .digest = digest_of(bytes), .size = ByteCount{bytes.size()}};
  manifest.entries = std::move(inspection.entries());
  manifest.kernels = std::move(kernels.kernels);
  std::ranges::move(
      find_problems_of_other_images(host_module->container, host_module->host_image, manifest),
      std::back_inserter(inspection.problems()));
  if (!inspection.problems().empty()) return reject(join(inspection.problems()));
  manifest.undefined = std::move(inspection.undefined());
  for (const module::Image& image : host_module->container.images)
    manifest.targets.push_back({.triple = image.triple,
                                .arch = module::architecture_of(image.triple),
                                .kind = std::string(to_string(image.kind)),
                                .size = ByteCount{image.bytes.size()}});
  return manifest;
}

}  // namespace

Result<std::unique_ptr<ModuleInspector>> ModuleInspector::create() {
  auto host = HostTarget::detect();
  if (!host) return fail(std::move(host.error()));
  // What libraries load at their first use: OpenSSL its configuration, LLVM its tables.
  static_cast<void>(digest_of({}));
  start_ptx_back_end();
  llvm::LLVMContext context;
  if (make_warm_up_module(context) == nullptr)
    return fail(ErrorCode::internal, "the built-in module cannot be read");
  return std::make_unique<HostInspector>(std::move(*host));
}

}  // namespace orchid::executor
