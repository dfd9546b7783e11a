// commands/build.cpp: orchid build: compiles sources to a module.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

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

/// In Debian's PATH with the version in the name, else in LLVM 19's own folder.
Toolchain find_toolchain() {
  const auto find = [](const std::string& name) {
    const auto versioned = find_program(name + "-19");
    return versioned ? versioned : find_program(name, "/usr/lib/llvm-19/bin");
  };
  return {.clang = find("clang"),
          .clangxx = find("clang++"),
          .flang = find("flang-new"),
          .link = find("llvm-link")};
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
    const std::string hint = cross_compiling_hint(plan.arch);
    return fail(ErrorCode::module_rejected,
                (step.source.empty() ? "linking" : "compiling " + step.source) + " for " +
                    plan.triple + " failed; the messages above say why" +
                    (hint.empty() ? "" : "; " + hint));
  }
  return {};
}

Result<std::vector<std::byte>> make_module(Shell& shell, const BuildRequest& request) {
  const auto plans = plan_build(request, find_toolchain());
  if (!plans) return fail(plans.error());
  std::vector<std::vector<std::byte>> code;
  for (const ImagePlan& plan : *plans) {
    if (auto ran = run_steps(shell, plan); !ran) return fail(std::move(ran.error()));
    auto bitcode = read_file(plan.bitcode, limits::module_size);
    if (!bitcode) return fail(std::move(bitcode.error()));
    code.push_back(std::move(*bitcode));
  }
  std::vector<module::Image> images;
  for (std::size_t i = 0; i < code.size(); ++i)
    images.push_back({.triple = (*plans)[i].triple, .arch = (*plans)[i].arch, .bytes = code[i]});
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
  auto* command =
      add_command(app, shell, "build", "Compile C, C++ or Fortran to a module, with LLVM 19",
                  "  orchid build saxpy.cpp\n  orchid build main.cpp part.c -o saxpy.orc\n"
                  "  orchid build saxpy.cpp --target x86-64 --target aarch64\n"
                  "  orchid build saxpy.cpp -- -O3 -DNDEBUG -Iinclude   (what follows -- goes to "
                  "the compiler)");
  auto arguments = std::make_shared<BuildArguments>();
  command
      ->add_option("SOURCE", arguments->sources,
                   "C (.c), C++ (.cpp, .cc, .cxx), Fortran (.f90), bitcode (.bc)")
      ->required();
  command->add_option("-o,--output", arguments->output,
                      "the module (default: the first source's name with .orc)");
  command
      ->add_option("--target", arguments->targets,
                   "x86-64, aarch64 or nvptx64; can be repeated (default: this machine's)")
      ->allow_extra_args(false);
  command->callback([&shell, arguments] { shell.status = run_build(shell, *arguments); });
}

}  // namespace orchid::cli
