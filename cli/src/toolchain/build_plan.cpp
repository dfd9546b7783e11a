#include "toolchain/build_plan.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>

#include "foundation/files.h"

namespace orchid::cli {
namespace {

enum class Language { c, cpp, fortran, cuda, ir, bitcode };

struct Target {
  std::string_view triple;
  std::string_view arch;
};

constexpr std::array<Target, 3> known_targets{{{"x86_64-linux-gnu", "x86-64"},
                                               {"aarch64-linux-gnu", "aarch64"},
                                               {"nvptx64-nvidia-cuda", "nvptx64"}}};

Result<Language> language_of(const std::filesystem::path& source) {
  const std::string extension = source.extension().string();
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, extension) != names.end();
  };
  if (is_one_of({".c"})) return Language::c;
  if (is_one_of({".cpp", ".cc", ".cxx", ".C", ".c++"})) return Language::cpp;
  if (is_one_of({".f90", ".f95", ".f03", ".f08", ".f", ".F90", ".F"})) return Language::fortran;
  if (is_one_of({".cu"})) return Language::cuda;
  if (is_one_of({".ll"})) return Language::ir;
  if (is_one_of({".bc"})) return Language::bitcode;
  return fail(ErrorCode::bad_request,
              "'" + source.string() +
                  "' is not a source that 'orchid build' knows: C (.c), C++ "
                  "(.cpp, .cc, .cxx), Fortran (.f90, .f), CUDA C++ (.cu) or "
                  "bitcode (.bc) or LLVM's text (.ll) of any other compiler");
}

std::string machine_architecture() {
  utsname name{};
  return ::uname(&name) == 0 ? name.machine : "x86_64";
}

Result<Target> find_target(std::string_view text) {
  for (const Target& target : known_targets) {
    const std::string_view first = target.triple.substr(0, target.triple.find('-'));
    if (text == target.arch || text == target.triple || text.substr(0, text.find('-')) == first)
      return target;
  }
  return fail(ErrorCode::bad_request,
              "'" + std::string(text) + "' is not a target; choose x86-64, aarch64 or nvptx64");
}

std::unexpected<Failure> missing(std::string_view program, std::string_view package) {
  return fail(ErrorCode::unsupported, std::string(program) +
                                          " is needed and was not found; install it: apt install " +
                                          std::string(package));
}

/// As cmake/bitcode.cmake has them. -flto=thin is clang's pipeline for a later link: it leaves
/// vectorising and unrolling to the host that runs the function, which knows its own vector width
/// (docs/decisions/0007).
constexpr std::array<const char*, 8> clang_flags{
    "-O2", "-flto=thin", "-g0", "-c", "-emit-llvm", "-Wall", "-Wextra", "-DORCHID_MODULE=1"};

constexpr std::string_view device_arch = "nvptx64";
/// The kernels are optimised for the GPU that runs them, at run time. sm_75 is the oldest of these.
constexpr std::array<const char*, 10> device_flags{
    "-O2",       "-g0",       "-c",          "-emit-llvm", "-Wall", "-Wextra", "-ffreestanding",
    "-nostdlib", "-nogpulib", "-march=sm_75"};

Result<std::vector<std::string>> compile_command(Language language, const BuildRequest& request,
                                                 const Toolchain& tools, bool for_device) {
  if (language == Language::fortran) {
    if (!tools.flang) return missing("flang-new-19", "flang-19");
    return std::vector<std::string>{*tools.flang, "-O2", "-c", "-emit-llvm"};
  }
  if (language == Language::ir) {
    // Another compiler has optimised it, and may have written it for its own name of the target.
    if (!tools.clang) return missing("clang-19", "clang-19");
    return std::vector<std::string>{*tools.clang, "-O0", "-c", "-emit-llvm",
                                    "-Wno-override-module"};
  }
  const bool is_c = language == Language::c;
  const auto& compiler = is_c ? tools.clang : tools.clangxx;
  if (!compiler) return missing(is_c ? "clang-19" : "clang++-19", "clang-19");
  std::vector<std::string> command{*compiler};
  if (for_device) {
    command.insert(command.end(), device_flags.begin(), device_flags.end());
    if (tools.libdevice) command.emplace_back("-DORCHID_LIBDEVICE=1");
  } else {
    command.insert(command.end(), clang_flags.begin(), clang_flags.end());
  }
  command.emplace_back(is_c ? "-std=gnu17" : "-std=c++23");
  command.push_back("-I" + request.headers.string());
  return command;
}

Result<std::filesystem::path> add_compile_step(ImagePlan& plan, const std::filesystem::path& source,
                                               const BuildRequest& request,
                                               const Toolchain& tools) {
  const auto language = language_of(source);
  if (!language) return fail(language.error());
  if (*language == Language::bitcode) return source;
  auto command = compile_command(*language, request, tools, plan.arch == device_arch);
  if (!command) return fail(std::move(command.error()));
  auto output = request.scratch / (plan.arch + "-" + std::to_string(plan.steps.size()) + ".bc");
  command->push_back("--target=" + plan.triple);
  command->insert(command->end(), request.compiler_flags.begin(), request.compiler_flags.end());
  command->insert(command->end(), {"-o", output.string(), source.string()});
  plan.steps.push_back(
      {.command = std::move(*command), .source = source.string(), .output = output});
  return output;
}

/// Of libdevice only what is needed. Its triple and data layout differ from clang's in name only.
void add_libdevice(ImagePlan& plan, const std::filesystem::path& libdevice,
                   const BuildRequest& request) {
  const auto& linker = plan.steps.back().command.front();
  const auto output = request.scratch / (plan.arch + "-libdevice.bc");
  plan.steps.push_back({.command = {linker, "--suppress-warnings", "--internalize", "--only-needed",
                                    "-o", output.string(), plan.image.string(), libdevice.string()},
                        .source = ""});
  plan.image = output;
}

Result<ImagePlan> plan_image(const Target& target, const BuildRequest& request,
                             const Toolchain& tools) {
  ImagePlan plan{.triple = std::string(target.triple),
                 .arch = std::string(target.arch),
                 .steps = {},
                 .image = {},
                 .kind = module::ImageKind::bitcode};
  std::vector<std::string> parts;
  for (const auto& source : request.sources) {
    auto part = add_compile_step(plan, source, request, tools);
    if (!part) return fail(std::move(part.error()));
    parts.push_back(part->string());
  }
  const bool adds_libdevice = plan.arch == device_arch && tools.libdevice.has_value();
  if (parts.size() == 1 && !adds_libdevice) {
    plan.image = parts.front();
    return plan;
  }
  if (!tools.link) return missing("llvm-link-19", "llvm-19");
  plan.image = request.scratch / (plan.arch + ".bc");
  std::vector<std::string> command{*tools.link, "-o", plan.image.string()};
  command.insert(command.end(), parts.begin(), parts.end());
  plan.steps.push_back({.command = std::move(command), .source = ""});
  if (adds_libdevice) add_libdevice(plan, *tools.libdevice, request);
  return plan;
}

/// The oldest GPUs that nvcc 13 compiles for; a driver makes code of the text for newer ones too.
constexpr std::string_view oldest_gpu = "sm_75";

/// PTX goes into the module as it is: a GPU's driver compiles it.
Result<ImagePlan> plan_cuda_image(const std::filesystem::path& source, std::size_t number,
                                  const BuildRequest& request, const Toolchain& tools) {
  if (!tools.nvcc)
    return fail(ErrorCode::unsupported,
                "nvcc is needed for " + source.string() +
                    " and was not found: install the CUDA toolkit, or set CUDA_HOME to where it "
                    "is; kernels of orchid/kernel.h need neither");
  const auto output = request.scratch / ("cuda-" + std::to_string(number) + ".ptx");
  std::vector<std::string> command{tools.nvcc->string(),
                                   "--ptx",
                                   "-arch=compute_" + std::string(oldest_gpu.substr(3)),
                                   "-O3",
                                   "-std=c++20",
                                   "-I" + request.headers.string()};
  command.insert(command.end(), request.compiler_flags.begin(), request.compiler_flags.end());
  command.insert(command.end(), {"-o", output.string(), source.string()});
  return ImagePlan{
      .triple = "nvptx64-nvidia-cuda",
      .arch = std::string(oldest_gpu),
      .steps = {{.command = std::move(command), .source = source.string(), .output = output}},
      .image = output,
      .kind = module::ImageKind::ptx};
}

bool is_cuda(const std::filesystem::path& source) {
  const auto language = language_of(source);
  return language && *language == Language::cuda;
}

}  // namespace

bool has_kernels(std::span<const std::byte> bitcode) {
  return as_text(bitcode).find("orchid_kernel_layout_") != std::string_view::npos;
}

Result<ImagePlan> plan_device_image(const BuildRequest& request, const Toolchain& tools) {
  const auto target = find_target(device_arch);
  if (!target) return fail(target.error());
  return plan_image(*target, request, tools);
}

bool is_source_file(const std::filesystem::path& file) {
  const auto language = language_of(file);
  return language && *language != Language::bitcode;
}

Result<std::vector<ImagePlan>> plan_build(const BuildRequest& request, const Toolchain& tools) {
  BuildRequest compiled = request;  // by clang and flang, for each target
  std::erase_if(compiled.sources, is_cuda);
  if (compiled.sources.empty())
    return fail(ErrorCode::bad_request,
                "a module of .cu files alone has no entry, since functions start on cores: give "
                "'orchid build' a C or C++ source too, which declares the kernels with "
                "ORCHID_DECLARE_KERNEL of orchid/kernel.h and launches them");
  std::vector<std::string> names = request.targets;
  if (names.empty()) names.push_back(machine_architecture());
  std::vector<ImagePlan> plans;
  for (const std::string& name : names) {
    const auto target = find_target(name);
    if (!target) return fail(target.error());
    if (std::ranges::find(plans, target->triple, &ImagePlan::triple) != plans.end()) continue;
    auto plan = plan_image(*target, compiled, tools);
    if (!plan) return fail(std::move(plan.error()));
    plans.push_back(std::move(*plan));
  }
  for (const auto& source : request.sources) {
    if (!is_cuda(source)) continue;
    auto plan = plan_cuda_image(source, plans.size(), request, tools);
    if (!plan) return fail(std::move(plan.error()));
    plans.push_back(std::move(*plan));
  }
  return plans;
}

std::string cross_compiling_hint(std::string_view arch) {
  const auto target = find_target(arch);
  const auto host = find_target(machine_architecture());
  if (!target || (host && host->arch == target->arch)) return {};
  if (target->arch == "aarch64")
    return "for aarch64 the headers of that architecture are needed: apt install "
           "g++-aarch64-linux-gnu";
  if (target->arch == "x86-64")
    return "for x86-64 the headers of that architecture are needed: apt install "
           "g++-x86-64-linux-gnu";
  return "for nvptx64 a source may use no header that needs an operating system: put what is for "
         "the host between '#if ORCHID_HOST' and '#endif'";
}

}  // namespace orchid::cli
