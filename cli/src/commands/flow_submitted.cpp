// commands/flow_submitted.cpp: orchid flow list, watch, result, logs, cancel, retry, resume,
// delete: flows that were handed over.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "flows/flow_report.h"
#include "terminal/documents.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

ExitStatus list_flows(Shell& shell) {
  const std::vector<FlowStatus> flows = shell.client().submitted_flows();
  if (shell.json) {
    Document list = Document::array();
    for (const FlowStatus& flow : flows) list.push_back(Document::parse(flow.json));
    print_document(shell, {{"flows", std::move(list)}});
    return ExitStatus::ok;
  }
  Table table({"id", "flow", "state", "nodes done", "submitted", "ended"});
  for (const FlowStatus& flow : flows)
    table.add({flow.id, flow.name, flow.state, fmt::format("{} of {}", flow.nodes_done, flow.nodes),
               flow.submitted, flow.ended});
  if (table.empty())
    shell.note("you have no flows; hand one over with 'orchid flow submit FILE'");
  else
    shell.print(table.text());
  return ExitStatus::ok;
}

/// A line for each node that has ended and each attempt that has failed; the end says the rest.
ExitStatus watch_flow(Shell& shell, const std::string& id) {
  const SubmittedFlow flow = shell.client().submitted_flow(id);
  std::set<std::string> said;  // at its end a flow tells all its nodes once more
  flow.watch([&shell, &said](const FlowEvent& event) {
    if (shell.json) {
      Document line{{"event", event.name}};
      line["data"] = Document::parse(event.data, nullptr, /*allow_exceptions=*/false);
      print_document(shell, line);
    } else if (const std::string text = line_of_event(event);
               !text.empty() && (event.name != "node" || said.insert(text).second)) {
      shell.note(text);
    }
    return true;
  });
  const FlowStatus status = flow.status();
  if (!shell.json && status.state != "done") shell.note("orchid: " + reason_of(status));
  return exit_status_of_flow(status);
}

ExitStatus print_outputs(Shell& shell, const std::string& id) {
  const std::string outputs = shell.client().submitted_flow(id).outputs();
  const Document document = Document::parse(outputs);
  if (shell.json)
    print_document(shell, {{"id", id}, {"outputs", document}});
  else
    print_document(shell, document.size() == 1 ? *document.begin() : document);
  return ExitStatus::ok;
}

ExitStatus print_flow_log(Shell& shell, const std::string& id) {
  const std::string log = shell.client().submitted_flow(id).log();
  if (shell.json)
    print_document(shell, {{"id", id}, {"log", log}});
  else
    shell.print(log);
  return ExitStatus::ok;
}

ExitStatus delete_flows(Shell& shell, const std::vector<std::string>& ids) {
  Client client = shell.client();
  for_each_name(shell, ids, "flows", [&](const std::string& id) {
    client.submitted_flow(id).remove();
    if (!shell.json) shell.print_line("deleted " + id);
    return Document{{"id", id}, {"deleted", true}};
  });
  return ExitStatus::ok;
}

using FlowOrder = FlowStatus (SubmittedFlow::*)() const;

void add_order(CLI::App& flows, Shell& shell, const std::string& name, const std::string& summary,
               FlowOrder order) {
  auto* command =
      add_command(flows, shell, name, summary, "  orchid flow " + name + " fl-0123456789abcdef");
  auto ids = std::make_shared<std::vector<std::string>>();
  command->add_option("ID", *ids, "the flow")->required();
  command->callback([&shell, ids, order] {
    Client client = shell.client();
    for_each_name(shell, *ids, "flows", [&](const std::string& id) {
      const FlowStatus status = (client.submitted_flow(id).*order)();
      if (!shell.json) shell.print_line(fmt::format("{} is {}", id, status.state));
      return Document::parse(status.json);
    });
    shell.status = ExitStatus::ok;
  });
}

void add_with_id(CLI::App& flows, Shell& shell, const std::string& name, const std::string& summary,
                 ExitStatus (*run)(Shell&, const std::string&)) {
  auto* command =
      add_command(flows, shell, name, summary, "  orchid flow " + name + " fl-0123456789abcdef");
  auto id = std::make_shared<std::string>();
  command->add_option("ID", *id, "the flow")->required();
  command->callback([&shell, id, run] { shell.status = run(shell, *id); });
}

}  // namespace

void add_flow_submitted(CLI::App& flows, Shell& shell) {
  auto* list = add_command(flows, shell, "list", "Show the flows that you have handed over",
                           "  orchid flow list");
  list->callback([&shell] { shell.status = list_flows(shell); });
  add_with_id(flows, shell, "watch", "Show what happens in a flow, until it has ended", watch_flow);
  add_with_id(flows, shell, "result", "Print the outputs of a flow that is done", print_outputs);
  add_with_id(flows, shell, "logs", "Print what has happened in a flow so far", print_flow_log);
  add_order(flows, shell, "cancel", "End flows; what they have reached is kept",
            &SubmittedFlow::cancel);
  add_order(flows, shell, "retry", "Go on with flows that failed or were cancelled",
            &SubmittedFlow::retry);
  add_order(flows, shell, "resume", "Go on with flows that Orchid has suspended",
            &SubmittedFlow::resume);
  auto* remove = add_command(flows, shell, "delete", "Delete flows, and cancel those that run",
                             "  orchid flow delete fl-0123456789abcdef");
  auto ids = std::make_shared<std::vector<std::string>>();
  remove->add_option("ID", *ids, "the flow")->required();
  remove->callback([&shell, ids] { shell.status = delete_flows(shell, *ids); });
}

}  // namespace orchid::cli
