#include "jit/host_target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <vector>

#include "module/container.h"

namespace orchid::executor {

namespace {

void start_llvm() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();  // of inline assembly
}

}  // namespace

Result<HostTarget> HostTarget::detect() {
  start_llvm();
  HostTarget host;
  host.triple = llvm::Triple(llvm::Triple::normalize(llvm::sys::getProcessTriple()));
  host.architecture = module::architecture_of(host.triple.str());
  host.cpu = llvm::sys::getHostCPUName().str();
  std::vector<std::string> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::ranges::sort(features, {}, [](const std::string& f) { return f.substr(1); });
  for (const std::string& feature : features)
    host.features += (host.features.empty() ? "" : ",") + feature;
  auto machine = make_target_machine(host, CompileTier::quick);
  if (!machine) return fail(std::move(machine.error()));
  host.data_layout = (*machine)->createDataLayout().getStringRepresentation();
  return host;
}

Result<std::vector<HostTarget>> HostTarget::all_processors() {
  // By name: the headers of a cross build may list other targets than this library has.
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  std::vector<HostTarget> targets;
  for (const char* triple : {"x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"}) {
    HostTarget target;
    target.triple = llvm::Triple(triple);
    target.architecture = module::architecture_of(triple);
    auto machine = make_target_machine(target, CompileTier::quick);
    if (!machine) return fail(std::move(machine.error()));
    target.data_layout = (*machine)->createDataLayout().getStringRepresentation();
    targets.push_back(std::move(target));
  }
  return targets;
}

Result<std::unique_ptr<llvm::TargetMachine>> make_target_machine(const HostTarget& host,
                                                                 CompileTier tier) {
  std::string reason;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(host.triple.str(), reason);
  if (target == nullptr)
    return fail(ErrorCode::unsupported, "LLVM cannot compile for this host: " + reason);
  llvm::TargetOptions options;
  options.EmulatedTLS = true;
  options.UseInitArray = true;
  const auto level =
      tier == CompileTier::quick ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Aggressive;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(host.triple.str(), host.cpu, host.features, options,
                                  llvm::Reloc::PIC_, llvm::CodeModel::Small, level, true));
  if (machine == nullptr)
    return fail(ErrorCode::unsupported, "LLVM has no code generator for " + host.triple.str());
  return machine;
}

}  // namespace orchid::executor
