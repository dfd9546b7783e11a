#include "jit/code_generator.h"

#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include "jit/bitcode.h"
#include "jit/diagnostics.h"
#include "jit/host_target.h"
#include "jit/retarget.h"
#include "jit/warm_up.h"

namespace orchid::executor {
namespace {

// Part of every cached object's key: raise the number with any change to what happens to a module
// here or in retarget.cpp.
constexpr std::string_view pipeline_name =
    "orchid-1 internalize default-passes(loop-vectorize,slp-vectorize) pic small-code-model "
    "emulated-tls init-array probe-stack uwtable";

void optimise(llvm::Module& code, llvm::TargetMachine& machine, CompileTier tier) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tier == CompileTier::o3;
  tuning.SLPVectorization = tier == CompileTier::o3;
  tuning.LoopInterleaving = tier == CompileTier::o3;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  const auto level =
      tier == CompileTier::o3 ? llvm::OptimizationLevel::O3 : llvm::OptimizationLevel::O1;
  builder.buildPerModuleDefaultPipeline(level).run(code, modules);
}

Result<std::vector<std::byte>> emit_object(llvm::Module& code, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile,
                                  /*DisableVerify=*/true))
    return fail(ErrorCode::unsupported, "LLVM cannot write objects for this host");
  passes.run(code);
  const auto* bytes = reinterpret_cast<const std::byte*>(object.data());
  return std::vector<std::byte>(bytes, bytes + object.size());
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
      if (code != nullptr) static_cast<void>(translate(*code, tier));
    }
  }

  Result<std::vector<std::byte>> compile(std::span<const std::byte> module,
                                         CompileTier tier) override {
    Diagnostics diagnostics;
    llvm::LLVMContext context;
    context.setDiscardValueNames(true);
    diagnostics.attach(context);
    auto host_module = read_host_module(module, host_, context);
    if (!host_module) return fail(std::move(host_module.error()));
    if (auto read = diagnostics.result(); !read) return fail(std::move(read.error()));
    llvm::Module& code = *host_module->code;
    std::vector<std::string> problems = find_code_problems(code, host_);
    if (entry_functions(code).empty()) problems.emplace_back("the module has no entry");
    if (!problems.empty()) return reject(join(problems));
    auto object = translate(code, tier);
    if (auto compiled = diagnostics.result(); !compiled) return fail(std::move(compiled.error()));
    return object;
  }

 private:
  Result<std::vector<std::byte>> translate(llvm::Module& code, CompileTier tier) {
    llvm::TargetMachine& machine = tier == CompileTier::quick ? *quick_ : *o3_;
    retarget(code, host_);
    optimise(code, machine, tier);
    return emit_object(code, machine);
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
