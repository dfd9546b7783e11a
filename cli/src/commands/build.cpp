// commands/build.cpp: orchid build: compiles sources to a module.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "commands/commands.h"
#include "foundation/files.h"
#include "foundation/units.h"
#include "module/container.h"
#include "protocol/limits.h"
#include "terminal/programs.h"
#include "toolchain/build_plan.h"
#include "toolchain/inspection.h"
#include "toolchain/scratch_directory.h"

namespace orchid::cli {
namespace {

namespace fs = std::filesystem;

struct BuildArguments {
  std::vector<std::string> sources;
  std::vector<std::string> targets;
  std::string output;
};

/// CUDA toolkits that the environment names, whose nvcc is in PATH, or in their usual place.
std::vector<fs::path> cuda_toolkits() {
  std::vector<fs::path> toolkits;
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      toolkits.emplace_back(value);
  std::error_code error;
  if (const auto nvcc = find_program("nvcc"))
    toolkits.push_back(fs::canonical(*nvcc, error).parent_path().parent_path());
  toolkits.emplace_back("/usr/local/cuda");
  return toolkits;
}

/// In the first toolkit that has it.
std::optional<fs::path> find_in_cuda(const fs::path& file) {
  std::error_code error;
  for (const fs::path& toolkit : cuda_toolkits())
    if (fs::exists(toolkit / file, error)) return toolkit / file;
  return std::nullopt;
}

/// In Debian's PATH with the version in the name, else in LLVM 19's own folder.
Toolchain find_toolchain() {
  const auto find = [](const std::string& name) {
    const auto versioned = find_program(name + "-19");
    return versioned ? versioned : find_program(name, "/usr/lib/llvm-19/bin");
  };
  return {.clang = find("clang"),
          .clangxx = find("clang++"),
          .flang = find("flang-new"),
          .link = find("llvm-link"),
          .libdevice = find_in_cuda("nvvm/libdevice/libdevice.10.bc"),
          .nvcc = find_in_cuda("bin/nvcc")};
}

/// Beside an installed program; else where the sources of Orchid are.
Result<fs::path> function_headers() {
  const auto programs = own_program_directory();
  if (!programs) return fail(programs.error());
  const fs::path installed = programs->parent_path() / "include";
  std::error_code error;
  return fs::exists(installed / "orchid" / "function.h", error) ? installed
                                                                : fs::path(ORCHID_FUNCTION_HEADERS);
}

Result<void> check_sources(const std::vector<std::string>& sources) {
  for (const std::string& source : sources)
    if (::access(source.c_str(), R_OK) != 0)
      return fail(system_failure(errno == ENOENT ? ErrorCode::not_found : ErrorCode::system,
                                 "reading " + source, errno));
  return {};
}

/// With --json what the compilers print, as some flags make them do, goes to standard error.
Result<void> run_steps(Shell& shell, const ImagePlan& plan) {
  for (const BuildStep& step : plan.steps) {
    const auto result = run_program({.command = step.command, .capture_output = shell.json});
    if (!result) return fail(result.error());
    if (!result->output.empty()) shell.note(result->output);
    if (result->status == 0) continue;
    const std::string hint =
        plan.kind == module::ImageKind::ptx ? "" : cross_compiling_hint(plan.arch);
    return fail(ErrorCode::module_rejected,
                (step.source.empty() ? "linking" : "compiling " + step.source) + " for " +
                    plan.triple + " failed; the messages above say why" +
                    (hint.empty() ? "" : "; " + hint));
  }
  return {};
}

/// Of an image for cores whose parts have been compiled: the C and C++ that go to GPUs too.
Result<std::vector<fs::path>> sources_with_kernels(const ImagePlan& plan) {
  std::vector<fs::path> sources;
  for (const BuildStep& step : plan.steps) {
    const auto extension = fs::path(step.source).extension();
    if (step.source.empty() || extension == ".ll") continue;  // linked, or already for one target
    const auto bitcode = read_file(step.output, limits::module_size);
    if (!bitcode) return fail(bitcode.error());
    if (has_kernels(*bitcode)) sources.emplace_back(step.source);
  }
  return sources;
}

Result<std::vector<std::byte>> make_module(Shell& shell, const BuildRequest& request) {
  const Toolchain tools = find_toolchain();
  auto plans = plan_build(request, tools);
  if (!plans) return fail(plans.error());
  std::vector<std::vector<std::byte>> code;
  const auto make = [&](const ImagePlan& plan) -> Result<void> {
    if (plan.arch == "nvptx64" && !tools.libdevice)
      shell.note(
          "libdevice of the CUDA toolkit was not found: kernels cannot use exp, log, sin and the "
          "like\n");
    if (auto ran = run_steps(shell, plan); !ran) return ran;
    auto bitcode = read_file(plan.image, limits::module_size);
    if (!bitcode) return fail(std::move(bitcode.error()));
    code.push_back(std::move(*bitcode));
    return {};
  };
  for (const ImagePlan& plan : *plans)
    if (auto made = make(plan); !made) return fail(std::move(made.error()));
  if (request.targets.empty()) {
    BuildRequest device = request;
    auto sources = sources_with_kernels(plans->front());
    if (!sources) return fail(std::move(sources.error()));
    device.sources = std::move(*sources);
    if (!device.sources.empty()) {
      auto plan = plan_device_image(device, tools);
      if (!plan) return fail(std::move(plan.error()));
      plans->push_back(std::move(*plan));
      if (auto made = make(plans->back()); !made) return fail(std::move(made.error()));
    }
  }
  std::vector<module::Image> images;
  for (std::size_t i = 0; i < code.size(); ++i)
    images.push_back({.triple = (*plans)[i].triple,
                      .arch = (*plans)[i].arch,
                      .kind = (*plans)[i].kind,
                      .bytes = code[i]});
  return module::write_container(images);
}

/// A module that cannot run replaces no good one: it is looked at before it gets its place.
Result<Inspection> inspect_and_place(const std::vector<std::byte>& module, const fs::path& scratch,
                                     const fs::path& output) {
  const fs::path candidate = scratch / output.filename();
  if (auto written = write_file_atomically(candidate, module); !written)
    return fail(std::move(written.error()));
  auto inspection = inspect_module(candidate);
  if (!inspection) return inspection;
  if (auto written = write_output_file(output, module); !written)
    return fail(std::move(written.error()));
  return inspection;
}

ExitStatus run_build(Shell& shell, const BuildArguments& arguments) {
  const auto scratch = ScratchDirectory::make();
  if (!scratch) return shell.report(scratch.error());
  const auto headers = function_headers();
  if (!headers) return shell.report(headers.error());
  if (const auto checked = check_sources(arguments.sources); !checked)
    return shell.report(checked.error());
  const auto module =
      make_module(shell, {.sources = {arguments.sources.begin(), arguments.sources.end()},
                          .targets = arguments.targets,
                          .compiler_flags = shell.behind_dashes,
                          .headers = *headers,
                          .scratch = scratch->path()});
  if (!module) return shell.report(module.error());
  const fs::path output = arguments.output.empty()
                              ? fs::path(arguments.sources.front()).stem().string() + ".orc"
                              : arguments.output;
  const auto inspection = inspect_and_place(*module, scratch->path(), output);
  if (!inspection) return shell.report(inspection.error());
  if (shell.json) {
    shell.print_line(inspection->json);
  } else {
    shell.print(output.string() + "  " + to_string(ByteCount{module->size()}) + "\n" +
                describe(inspection->manifest));
  }
  return ExitStatus::ok;
}

}  // namespace

void add_build(CLI::App& app, Shell& shell) {
  auto* command = add_command(
      app, shell, "build", "Compile C, C++, Fortran or CUDA C++ to a module, with LLVM 19",
      "  orchid build saxpy.cpp\n  orchid build main.cpp part.c -o saxpy.orc\n"
      "  orchid build saxpy.cpp --target x86-64 --target aarch64\n"
      "  orchid build kernels.cpp   (with orchid/kernel.h: for cores, and for GPUs by PTX)\n"
      "  orchid build main.cpp kernels.cu   (CUDA kernels, by nvcc)\n"
      "  orchid build saxpy.cpp -- -O3 -DNDEBUG -Iinclude   (what follows -- goes to "
      "the compiler)");
  auto arguments = std::make_shared<BuildArguments>();
  command
      ->add_option("SOURCE", arguments->sources,
                   "C (.c), C++ (.cpp, .cc, .cxx), Fortran (.f90), CUDA C++ (.cu), bitcode (.bc)")
      ->required();
  command->add_option("-o,--output", arguments->output,
                      "the module (default: the first source's name with .orc)");
  command
      ->add_option("--target", arguments->targets,
                   "x86-64, aarch64 or nvptx64; can be repeated (default: this machine's, and "
                   "nvptx64 where the source has kernels)")
      ->allow_extra_args(false);
  command->callback([&shell, arguments] { shell.status = run_build(shell, *arguments); });
}

}  // namespace orchid::cli
