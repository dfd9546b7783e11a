// commands/cancel.cpp: orchid cancel: asks invocations to stop.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands/commands.h"
#include "terminal/documents.h"

namespace orchid::cli {
namespace {

ExitStatus run_cancel(Shell& shell, const std::vector<std::string>& ids) {
  Client client = shell.client();
  for_each_name(shell, ids, "invocations", [&](const std::string& id) {
    client.invocation(id).cancel();
    if (!shell.json) shell.print_line("cancelling " + id);
    return Document{{"id", id}, {"cancelling", true}};
  });
  return ExitStatus::ok;
}

}  // namespace

void add_cancel(CLI::App& app, Shell& shell) {
  auto* command =
      add_command(app, shell, "cancel", "Stop invocations: they are asked first, then killed",
                  "  orchid cancel i-0123456789abcdef");
  auto ids = std::make_shared<std::vector<std::string>>();
  command->add_option("ID", *ids, "invocations")->required();
  command->callback([&shell, ids] { shell.status = run_cancel(shell, *ids); });
}

}  // namespace orchid::cli
