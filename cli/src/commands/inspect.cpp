// commands/inspect.cpp: orchid inspect: what a module offers and needs, without deploying it.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "commands/commands.h"
#include "toolchain/inspection.h"

namespace orchid::cli {
namespace {

ExitStatus run_inspect(Shell& shell, const std::string& file, const std::string& gpu) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return shell.report(
        Failure{ErrorCode::not_found, file + " does not exist; 'orchid build' makes modules"});
  if (!gpu.empty()) {
    const auto ptx = make_ptx(file, gpu);
    if (!ptx) return shell.report(Failure{ptx.error().code, file + ": " + ptx.error().message});
    shell.print(*ptx);
    return ExitStatus::ok;
  }
  const auto inspection = inspect_module(file);
  if (!inspection)
    return shell.report(Failure{inspection.error().code, file + ": " + inspection.error().message});
  if (shell.json) {
    shell.print_line(inspection->json);
  } else {
    shell.print(file + ": " + to_string(inspection->manifest.size) + ", " +
                inspection->manifest.digest + "\n" + describe(inspection->manifest));
  }
  return ExitStatus::ok;
}

}  // namespace

void add_inspect(CLI::App& app, Shell& shell) {
  auto* command =
      add_command(app, shell, "inspect", "Show what a module offers and needs",
                  "  orchid inspect saxpy.orc\n  orchid inspect bitcode-of-rustc.bc --json\n"
                  "  orchid inspect kernels.orc --ptx sm_80   (the kernels as a GPU gets them)");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "a module, or bitcode")->required();
  auto gpu = std::make_shared<std::string>();
  command->add_option("--ptx", *gpu, "print the kernels as PTX for this GPU: sm_75, sm_80, sm_90");
  command->callback([&shell, file, gpu] { shell.status = run_inspect(shell, *file, *gpu); });
}

}  // namespace orchid::cli
