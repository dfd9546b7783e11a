#include "jit/inspector.h"

#include <fmt/format.h>
#include <llvm/Analysis/ConstantFolding.h>
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
#include "jit/undefined_symbols.h"
#include "jit/unused_code.h"
#include "jit/warm_up.h"
#include "module/signature.h"
#include "protocol/digest.h"
#include "protocol/effects.h"
#include "protocol/limits.h"
#include "protocol/names.h"

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

  /// What the module says of itself.
  void read_effects() {
    effects_ = declared_effects(code_);
    for (const std::string& name : effects_)
      if (!is_entry_name(name))
        problem("'{}' is not a name for an effect: use letters, digits and '_', at most 128", name);
    if (effects_.size() > limits::entries_per_module)
      problem("the module has {} effects; at most {} are allowed", effects_.size(),
              limits::entries_per_module);
  }
  /// With those of the host calls that it needs.
  [[nodiscard]] std::vector<std::string> effects(const std::vector<std::string>& needed) {
    std::ranges::copy_if(needed, std::back_inserter(effects_), is_effect_call);
    std::ranges::sort(effects_);
    return std::move(effects_);
  }

  template <typename... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] std::vector<std::string>& problems() { return problems_; }
  [[nodiscard]] std::vector<module::Entry>& entries() { return entries_; }

 private:
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
  std::vector<std::string> effects_;
};

void move_to(std::vector<std::string>& all, std::vector<std::string> some) {
  std::ranges::move(some, std::back_inserter(all));
}

class ProcessorInspector final : public ModuleInspector {
 public:
  explicit ProcessorInspector(std::vector<HostTarget> processors)
      : processors_(std::move(processors)) {}
  Result<module::Manifest> inspect(std::span<const std::byte> bytes) const override;

 private:
  [[nodiscard]] const HostTarget& target_of(const llvm::Module& code) const;

  std::vector<HostTarget> processors_;  // this host's first
};

/// Code that names no target is looked at as if it were for this host: that is among its problems.
const HostTarget& ProcessorInspector::target_of(const llvm::Module& code) const {
  const auto found = std::ranges::find(processors_, module::architecture_of(code.getTargetTriple()),
                                       &HostTarget::architecture);
  return found == processors_.end() ? processors_.front() : *found;
}

Result<module::Manifest> ProcessorInspector::inspect(std::span<const std::byte> bytes) const {
  Diagnostics diagnostics;
  llvm::LLVMContext context;
  diagnostics.attach(context);
  auto read = read_module(bytes, processors_, context);
  if (!read) return fail(std::move(read.error()));
  if (auto good = diagnostics.result(); !good) return fail(std::move(good.error()));

  llvm::Module& code = *read->code;
  const HostTarget& target = target_of(code);
  Inspection inspection(code);
  inspection.problems() = find_code_problems(code, target);
  inspection.check_abi_version();
  inspection.read_entries();
  inspection.read_effects();
  KernelList kernels = read_kernels(code);
  move_to(inspection.problems(), std::move(kernels.problems));
  // As before code is made: what no entry reaches needs nothing.
  retarget(code, target);
  drop_unused(code);
  UndefinedSymbols undefined = read_undefined_symbols(code, target.architecture);
  move_to(inspection.problems(), std::move(undefined.problems));

  module::Manifest manifest{
      .abi = abi_version, .digest = digest_of(bytes), .size = ByteCount{bytes.size()}};
  manifest.entries = std::move(inspection.entries());
  manifest.kernels = std::move(kernels.kernels);
  manifest.effects = inspection.effects(undefined.names);
  move_to(inspection.problems(),
          find_problems_of_other_images(read->container, read->image, processors_, manifest));
  if (!inspection.problems().empty()) return reject(join(inspection.problems()));
  manifest.undefined = std::move(undefined.names);
  for (const module::Image& image : read->container.images)
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
  auto processors = HostTarget::all_processors();
  if (!processors) return fail(std::move(processors.error()));
  std::erase_if(*processors, [&](const HostTarget& processor) {
    return processor.architecture == host->architecture;
  });
  processors->insert(processors->begin(), std::move(*host));
  // What libraries load at their first use: OpenSSL its configuration, LLVM its tables.
  static_cast<void>(digest_of({}));
  start_ptx_back_end();
  llvm::LLVMContext context;
  if (make_warm_up_module(context) == nullptr)
    return fail(ErrorCode::internal, "the built-in module cannot be read");
  return std::make_unique<ProcessorInspector>(std::move(*processors));
}

}  // namespace orchid::executor
