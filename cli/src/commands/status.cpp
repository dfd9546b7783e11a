// commands/status.cpp: orchid status: how an invocation stands, or the newest ones.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "calls/call_watch.h"
#include "commands/commands.h"
#include "terminal/documents.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

Table status_table(const std::vector<InvocationStatus>& invocations) {
  // Only where some call says how far it is.
  const bool shows_progress = std::ranges::any_of(
      invocations, [](const InvocationStatus& status) { return status.progress.has_value(); });
  std::vector<std::string> heads{"id", "function", "state", "outcome", "node", "message"};
  if (shows_progress) heads.insert(heads.begin() + 3, "progress");
  Table table(std::move(heads));
  for (const InvocationStatus& status : invocations) {
    std::vector<std::string> row{status.id,      status.function, status.state,
                                 status.outcome, status.node,     status.message};
    if (shows_progress)
      row.insert(row.begin() + 3, status.progress ? progress_bar(*status.progress) : "");
    table.add(std::move(row));
  }
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
