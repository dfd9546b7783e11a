// commands/inspect.cpp: orchid inspect: what a module offers and needs, without deploying it.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "commands/commands.h"
#include "toolchain/inspection.h"

namespace orchid::cli {
namespace {

ExitStatus run_inspect(Shell& shell, const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return shell.report(
        Failure{ErrorCode::not_found, file + " does not exist; 'orchid build' makes modules"});
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
                  "  orchid inspect saxpy.orc\n  orchid inspect bitcode-of-rustc.bc --json");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "a module, or bitcode")->required();
  command->callback([&shell, file] { shell.status = run_inspect(shell, *file); });
}

}  // namespace orchid::cli
