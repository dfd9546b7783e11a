#include "jit/code_generator.h"

#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>

#include "jit/bitcode.h"
#include "jit/constants.h"
#include "jit/diagnostics.h"
#include "jit/host_target.h"
#include "jit/module_state.h"
#include "jit/outer_loops.h"
#include "jit/retarget.h"
#include "jit/unused_code.h"
#include "jit/warm_up.h"

namespace orchid::executor {
namespace {

// Part of the key of all code that is cached: raise the number with any change to what happens to a
// module here or in retarget.cpp.
constexpr std::string_view pipeline_name =
    "orchid-5 internalize globaldce default-passes(loop-vectorize,outer-loops,slp-vectorize) pic "
    "small-code-model emulated-tls init-array probe-stack uwtable";

/// Runs passes over one module.
class Optimiser {
 public:
  Optimiser(llvm::TargetMachine* machine, const llvm::PipelineTuningOptions& tuning)
      : builder_(machine, tuning) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(components_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
  }
  llvm::PassBuilder& builder() { return builder_; }
  void run(llvm::Module& code, llvm::ModulePassManager passes) { passes.run(code, modules_); }

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
};

/// What has to happen to any module, and little more: modules come simplified, and each pass costs
/// the first call its time. No pass of either tier may change what floating-point code computes,
/// but for loops that say so: `vectorize(enable)` lets a sum be reordered.
llvm::ModulePassManager quick_passes(llvm::PassBuilder& builder) {
  llvm::FunctionPassManager simplify;
  simplify.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  simplify.addPass(llvm::EarlyCSEPass());
  simplify.addPass(llvm::InstCombinePass());
  simplify.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager passes = builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0);
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(simplify)));
  return passes;
}

/// Where the processor is Arm's, LLVM makes vector code of a sum by splitting each fused
/// multiplication and addition, which rounds once more. The quick code does not, and a kernel may
/// run in both.
void keep_sums_fused() {
  constexpr const char* splitting = "force-ordered-reductions";
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto option = options.find(splitting);
  if (option != options.end() && option->second->getNumOccurrences() == 0)
    (void)option->second->addOccurrence(1, splitting, "false");
}

void optimise(llvm::Module& code, llvm::TargetMachine& machine, CompileTier tier) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tier == CompileTier::o3;
  tuning.SLPVectorization = tier == CompileTier::o3;
  tuning.LoopInterleaving = tier == CompileTier::o3;
  keep_sums_fused();
  Optimiser optimiser(&machine, tuning);
  vectorise_outer_loops(optimiser.builder());
  optimiser.run(code, tier == CompileTier::o3 ? optimiser.builder().buildPerModuleDefaultPipeline(
                                                    llvm::OptimizationLevel::O3)
                                              : quick_passes(optimiser.builder()));
}

Result<std::vector<std::byte>> emit_object_file(llvm::Module& code, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> file;
  llvm::raw_svector_ostream stream(file);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile,
                                  /*DisableVerify=*/true))
    return fail(ErrorCode::unsupported, "LLVM cannot write object files for this host");
  passes.run(code);
  const auto* bytes = reinterpret_cast<const std::byte*>(file.data());
  return std::vector<std::byte>(bytes, bytes + file.size());
}

CodeGenerator::Figures figures_of(const llvm::Module& code) {
  CodeGenerator::Figures figures;
  for (const llvm::Function& function : code) {
    if (function.isDeclaration()) continue;
    std::uint64_t branches = 0;
    for (const llvm::BasicBlock& block : function)
      if (const auto* last = block.getTerminator(); last != nullptr && last->getNumSuccessors() > 1)
        ++branches;
    ++figures.functions;
    figures.branches += branches;
    figures.most_branches = std::max(figures.most_branches, branches);
  }
  return figures;
}

class HostCodeGenerator final : public CodeGenerator {
 public:
  HostCodeGenerator(HostTarget host, std::unique_ptr<llvm::TargetMachine> quick,
                    std::unique_ptr<llvm::TargetMachine> o3)
      : host_(std::move(host)), quick_(std::move(quick)), o3_(std::move(o3)) {}

  CompilerReady description() const override {
    return {.triple = host_.triple.str(),
            .cpu = host_.cpu,
            .features = host_.features,
            .llvm = LLVM_VERSION_STRING,
            .pipeline = std::string(pipeline_name)};
  }

  void warm_up() override {
    for (const CompileTier tier : {CompileTier::quick, CompileTier::o3}) {
      Diagnostics diagnostics;
      llvm::LLVMContext context;
      diagnostics.attach(context);
      const auto code = make_warm_up_module(context);
      if (code == nullptr) continue;
      retarget(*code, host_);
      static_cast<void>(make_code(*code, tier));
    }
  }

  Result<Code> compile(std::span<const std::byte> module, const Wanted& wanted,
                       const Read& read) override {
    CompileTier tier = wanted.tier;
    Diagnostics diagnostics;
    llvm::LLVMContext context;
    context.setDiscardValueNames(true);
    diagnostics.attach(context);
    auto host_module = read_module(module, std::span(&host_, 1), context);
    if (!host_module) return fail(std::move(host_module.error()));
    if (auto good = diagnostics.result(); !good) return fail(std::move(good.error()));
    llvm::Module& code = *host_module->code;
    std::vector<std::string> problems = find_code_problems(code, host_);
    if (entry_functions(code).empty()) problems.emplace_back("the module has no entry");
    if (!problems.empty()) return reject(join(problems));
    if (auto set = set_constants(code, wanted.constants); !set) return fail(std::move(set.error()));
    read(figures_of(code));
    retarget(code, host_);
    drop_unused(code);
    if (tier == CompileTier::quick && keeps_state(code)) tier = CompileTier::o3;
    auto made = make_code(code, tier);
    if (auto compiled = diagnostics.result(); !compiled) return fail(std::move(compiled.error()));
    if (!made) return fail(std::move(made.error()));
    return Code{.bytes = std::move(*made), .tier = tier};
  }

 private:
  /// `code` has been retargeted.
  Result<std::vector<std::byte>> make_code(llvm::Module& code, CompileTier tier) {
    llvm::TargetMachine& machine = tier == CompileTier::quick ? *quick_ : *o3_;
    optimise(code, machine, tier);
    return emit_object_file(code, machine);
  }

  HostTarget host_;
  std::unique_ptr<llvm::TargetMachine> quick_;
  std::unique_ptr<llvm::TargetMachine> o3_;
};

}  // namespace

Result<std::unique_ptr<CodeGenerator>> CodeGenerator::create() {
  auto host = HostTarget::detect();
  if (!host) return fail(std::move(host.error()));
  auto quick = make_target_machine(*host, CompileTier::quick);
  if (!quick) return fail(std::move(quick.error()));
  auto o3 = make_target_machine(*host, CompileTier::o3);
  if (!o3) return fail(std::move(o3.error()));
  return std::make_unique<HostCodeGenerator>(std::move(*host), std::move(*quick), std::move(*o3));
}

}  // namespace orchid::executor
