// commands/delete.cpp: orchid delete: takes functions away. Calls that run keep their version.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands/commands.h"
#include "terminal/documents.h"

namespace orchid::cli {
namespace {

ExitStatus run_delete(Shell& shell, const std::vector<std::string>& names) {
  Client client = shell.client();
  for_each_name(shell, names, "functions", [&](const std::string& name) {
    client.remove(name);
    if (!shell.json) shell.print_line("deleted " + name);
    return Document{{"name", name}, {"deleted", true}};
  });
  return ExitStatus::ok;
}

}  // namespace

void add_delete(CLI::App& app, Shell& shell) {
  auto* command = add_command(app, shell, "delete", "Remove functions; calls that run continue",
                              "  orchid delete saxpy\n  orchid delete saxpy dot");
  command->alias("rm");
  auto names = std::make_shared<std::vector<std::string>>();
  command->add_option("NAME", *names, "the functions")->required();
  command->callback([&shell, names] { shell.status = run_delete(shell, *names); });
}

}  // namespace orchid::cli
