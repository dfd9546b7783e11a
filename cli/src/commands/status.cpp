// commands/status.cpp: orchid status: how an invocation stands, or the newest ones.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands/commands.h"
#include "terminal/documents.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

Table status_table(const std::vector<InvocationStatus>& invocations) {
  Table table({"id", "function", "state", "outcome", "node", "message"});
  for (const InvocationStatus& status : invocations)
    table.add(
        {status.id, status.function, status.state, status.outcome, status.node, status.message});
  return table;
}

ExitStatus run_status(Shell& shell, const std::vector<std::string>& ids) {
  Client client = shell.client();
  if (ids.empty() && shell.json) {
    print_answer(shell, client.get("/v1/invocations"));
    return ExitStatus::ok;
  }
  std::vector<InvocationStatus> invocations;
  if (ids.empty()) invocations = client.invocations();
  for_each_name(shell, ids, "invocations", [&](const std::string& id) {
    invocations.push_back(client.invocation(id).status());
    return Document::parse(invocations.back().json);
  });
  if (shell.json) return ExitStatus::ok;
  if (invocations.empty()) {
    shell.note("there are no invocations; 'orchid invoke NAME --async' makes one");
  } else {
    shell.print(status_table(invocations).text());
  }
  return ExitStatus::ok;
}

}  // namespace

void add_status(CLI::App& app, Shell& shell) {
  auto* command = add_command(app, shell, "status",
                              "Show the state of invocations; without an id, of the newest ones",
                              "  orchid status\n  orchid status i-0123456789abcdef --json");
  auto ids = std::make_shared<std::vector<std::string>>();
  command->add_option("ID", *ids, "invocations");
  command->callback([&shell, ids] { shell.status = run_status(shell, *ids); });
}

}  // namespace orchid::cli
