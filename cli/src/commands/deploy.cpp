// commands/deploy.cpp: orchid deploy: hands a module to the gateway under a name.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "commands/commands.h"
#include "foundation/units.h"
#include "placement/shape_text.h"
#include "protocol/digest.h"
#include "protocol/names.h"
#include "toolchain/build_plan.h"

namespace orchid::cli {
namespace {

struct DeployArguments {
  std::string file;
  std::string name;
  std::string if_match;
  std::optional<unsigned> concurrency;
  std::string needs;
};

ExitStatus run_deploy(Shell& shell, DeployArguments arguments) {
  const std::filesystem::path file = arguments.file;
  if (is_source_file(file))
    return shell.report_usage(arguments.file + " is source code; first 'orchid build " +
                              arguments.file + "'");
  if (arguments.name.empty()) arguments.name = file.stem().string();
  if (const auto valid = check_function_name(arguments.name); !valid)
    return shell.report(
        Failure{valid.error().code, valid.error().message + "; give another one with --name"});
  if (!arguments.needs.empty())
    if (const auto shapes = placement::parse_shapes(arguments.needs); !shapes)
      return shell.report_usage("--needs: " + shapes.error().message);
  const auto module = read_input_file(arguments.file);
  if (!module) return shell.report(module.error());
  const FunctionInfo info = shell.client().deploy(arguments.name, *module,
                                                  {.if_match = arguments.if_match,
                                                   .concurrency = arguments.concurrency,
                                                   .needs = arguments.needs});
  if (shell.json) {
    shell.print_line(info.json);
    return ExitStatus::ok;
  }
  shell.print_line("deployed " + info.name + "@" + std::string(short_digest(info.version)) + " (" +
                   to_string(ByteCount{info.size}) + ")");
  for (const EntryInfo& entry : info.entries)
    shell.print_line("  " + info.name + (info.entries.size() == 1 ? "" : "." + entry.name) +
                     (entry.signature.empty() ? "" : "  " + entry.signature));
  return ExitStatus::ok;
}

}  // namespace

void add_deploy(CLI::App& app, Shell& shell) {
  auto* command =
      add_command(app, shell, "deploy", "Make a module callable under a name",
                  "  orchid deploy saxpy.orc\n  orchid deploy saxpy.orc --name fast-saxpy\n"
                  "  orchid deploy saxpy.orc --concurrency 4       (at most 4 calls at once)\n"
                  "  orchid deploy saxpy.orc --if-match sha256:…   (only over that version)\n"
                  "  orchid deploy idw.orc --needs '1 gpu | 4 cores'   (a GPU, else four cores)");
  auto arguments = std::make_shared<DeployArguments>();
  command->add_option("FILE", arguments->file, "a module: .orc from 'orchid build', or bitcode")
      ->required();
  command->add_option("--name", arguments->name, "the function's name (default: the file's)");
  command->add_option("--if-match", arguments->if_match,
                      "deploy only when this digest is the current version");
  command->add_option(
      "--concurrency", arguments->concurrency,
      "how many calls may run at once, while others wait; 0: no limit (default: unchanged)");
  command->add_option("--needs", arguments->needs,
                      "what each worker of it has, the best first: '4 cores, 2 GiB', '1 gpu a100 | "
                      "4 cores' (default: unchanged, at first '1 core')");
  command->callback([&shell, arguments] { shell.status = run_deploy(shell, *arguments); });
}

}  // namespace orchid::cli
