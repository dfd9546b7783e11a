#include "jit/ptx_generator.h"

#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "foundation/files.h"
#include "foundation/numbers.h"
#include "jit/bitcode.h"
#include "jit/device_code.h"
#include "jit/diagnostics.h"
#include "jit/kernels.h"
#include "module/manifest.h"

namespace orchid::executor {
namespace {

constexpr const char* device_triple = "nvptx64-nvidia-cuda";

/// The least PTX version that each needs: older drivers then read the text too.
struct Gpu {
  std::string_view name;
  std::string_view features;
};
constexpr std::array<Gpu, 6> known_gpus{{{"sm_75", "+ptx63"},
                                         {"sm_80", "+ptx70"},
                                         {"sm_86", "+ptx71"},
                                         {"sm_89", "+ptx78"},
                                         {"sm_90", "+ptx78"},
                                         {"sm_90a", "+ptx80"}}};

/// The number in "sm_90" or "compute_90a"; 0: there is none.
unsigned generation_of(std::string_view gpu) {
  const std::size_t digits = gpu.find_first_of("0123456789");
  if (digits == std::string_view::npos) return 0;
  return leading_number<unsigned>(gpu.substr(digits)).value_or(0);
}

/// The newest GPU of those whose PTX this one can run, too. Empty: there is none.
std::string_view known_gpu_for(std::string_view gpu) {
  std::string_view best;
  if (is_known_gpu(gpu)) return gpu;
  if (!gpu.starts_with("sm_")) return best;
  for (const Gpu& known : known_gpus)
    if (!known.name.ends_with('a') && generation_of(known.name) <= generation_of(gpu))
      best = known.name;  // they are in the order of their age
  return best;
}

std::unique_ptr<llvm::TargetMachine> make_device_machine(const Gpu& gpu) {
  std::string reason;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(device_triple, reason);
  if (target == nullptr) return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      device_triple, std::string(gpu.name), std::string(gpu.features), {}, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

void optimise_for_device(llvm::Module& code, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(code, modules);
}

const module::Image* find_device_bitcode(const module::Container& container) {
  const auto found = std::ranges::find_if(container.images, [&](const module::Image& image) {
    return image.kind == module::ImageKind::bitcode &&
           module::is_gpu_architecture(module::architecture_of(image.triple));
  });
  return found == container.images.end() ? nullptr : &*found;
}

/// PTX as it came, for the newest GPU that is not newer than the wanted one: the driver compiles
/// it. What is for one generation alone ("sm_90a") is for no other. Errors: `not_found`,
/// `module_rejected`.
Result<std::string> find_ptx_image(const module::Container& container, std::string_view gpu) {
  const module::Image* best = nullptr;
  std::string others;
  for (const module::Image& image : container.images) {
    if (image.kind != module::ImageKind::ptx || module::architecture_of(image.triple) != "nvptx64")
      continue;
    const unsigned wanted = generation_of(gpu);
    const unsigned made_for = generation_of(image.arch);
    const bool fits = image.arch.ends_with('a') ? made_for == wanted : made_for <= wanted;
    if (!fits)
      others += (others.empty() ? "" : ", ") + image.arch;
    else if (best == nullptr || generation_of(best->arch) < generation_of(image.arch))
      best = &image;
  }
  if (best != nullptr) return std::string(as_text(best->bytes));
  if (others.empty())
    return fail(ErrorCode::not_found,
                "the module has no bitcode image for nvptx64; build it with --target nvptx64");
  return reject(fmt::format(
      "the module has PTX for {}, and this GPU is {}: build it for an older one", others, gpu));
}

Result<std::string> emit_ptx(llvm::Module& code, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return fail(ErrorCode::unsupported, "LLVM cannot write PTX");
  passes.run(code);
  return std::string(text.begin(), text.end());
}

}  // namespace

void start_ptx_back_end() {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

bool is_known_gpu(std::string_view gpu) {
  return std::ranges::find(known_gpus, gpu, &Gpu::name) != known_gpus.end();
}

Result<std::string> generate_ptx(std::span<const std::byte> module, std::string_view gpu) {
  const auto* const wanted = std::ranges::find(known_gpus, known_gpu_for(gpu), &Gpu::name);
  if (wanted == known_gpus.end())
    return fail(ErrorCode::bad_request,
                fmt::format("'{}' is not a GPU that PTX can be made for; choose sm_75, sm_80, "
                            "sm_86, sm_89, sm_90 or sm_90a",
                            gpu));
  auto container = module::read_container(module);
  if (!container) return fail(std::move(container.error()));
  const module::Image* image = find_device_bitcode(*container);
  if (image == nullptr) return find_ptx_image(*container, gpu);
  Diagnostics diagnostics;
  llvm::LLVMContext context;
  diagnostics.attach(context);
  auto code = parse_image(*image, context);
  if (!code) return fail(std::move(code.error()));
  if (const auto list = read_kernels(**code); !list.problems.empty())
    return reject(join(list.problems));
  if (const auto missing = drop_unused_of_device(**code); !missing.empty())
    return reject(describe_missing_on_device(missing));
  const auto machine = make_device_machine(*wanted);
  if (machine == nullptr) return fail(ErrorCode::unsupported, "this LLVM cannot make PTX");
  (*code)->setTargetTriple(device_triple);
  (*code)->setDataLayout(machine->createDataLayout());
  for (llvm::Function& function : **code)
    for (const char* attribute : {"target-cpu", "target-features", "tune-cpu"})
      function.removeFnAttr(attribute);
  optimise_for_device(**code, *machine);
  auto text = emit_ptx(**code, *machine);
  if (auto good = diagnostics.result(); !good) return fail(std::move(good.error()));
  return text;
}

}  // namespace orchid::executor
