// commands/help.cpp: orchid help: what --help prints, asked for in the other way.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands/commands.h"

namespace orchid::cli {
namespace {

ExitStatus run_help(Shell& shell, const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* wanted = &app;
  std::string name = app.get_name();
  for (const std::string& word : words) {
    const auto found = wanted->get_subcommands(
        [&word](const CLI::App* command) { return command->check_name(word); });
    if (found.empty())
      return shell.report_usage("there is no command '" + word + "'; '" + name +
                                " --help' lists them");
    wanted = found.front();
    name += " " + wanted->get_name();
  }
  shell.print(app.get_formatter()->make_help(wanted, name, CLI::AppFormatMode::Normal));
  return ExitStatus::ok;
}

}  // namespace

void add_help(CLI::App& app, Shell& shell) {
  auto* command = add_command(app, shell, "help", "Explain a command, or list all of them",
                              "  orchid help\n  orchid help invoke\n  orchid help pilot start");
  command->remove_option(command->get_option("--json"));
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "the command");
  command->callback([&shell, &app, words] { shell.status = run_help(shell, app, *words); });
}

}  // namespace orchid::cli
