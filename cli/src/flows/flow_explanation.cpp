#include "flows/flow_explanation.h"

#include <fmt/format.h>

#include <cstdint>

#include "orchid/submitted_flow.h"
#include "terminal/answers.h"
#include "terminal/documents.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

constexpr std::size_t most_names_told = 16;

std::string word_of(const Document& document, const char* key) {
  return document.value(key, std::string());
}

Document nodes_in(const FlowStatus& status) {
  const Document document = Document::parse(status.json);
  return document.contains("nodes") ? document["nodes"] : Document::array();
}

std::string state_of(const Document& nodes, const std::string& name) {
  for (const Document& node : nodes)
    if (word_of(node, "node") == name) return word_of(node, "state");
  return "";
}

/// What nodes before it hold it up; those that are done do not.
std::string what_it_waits_for(const Document& nodes, const Document& node) {
  std::string text;
  if (node.contains("after"))
    for (const auto& before : node["after"]) {
      const auto name = before.get<std::string>();
      if (const std::string state = state_of(nodes, name); state != "done")
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, state);
    }
  return text;
}

std::string reason_of_node(const Document& nodes, const Document& node, const FlowStatus& flow) {
  if (std::string decided = word_of(node, "why"); !decided.empty()) return decided;
  const std::string state = word_of(node, "state");
  if (state == "failed") return flow.message;
  if (state != "waiting") return "";
  const std::string before = what_it_waits_for(nodes, node);
  return before.empty() ? "" : "waits for " + before;
}

std::string names_of(const Document& nodes) {
  std::string text;
  std::size_t count = 0;
  for (const Document& node : nodes) {
    if (++count > most_names_told)
      return text + fmt::format(" and {} more", nodes.size() - most_names_told);
    text += (text.empty() ? "" : ", ") + word_of(node, "node");
  }
  return text;
}

bool has_calls(const Document& node) { return node.contains("calls") && !node["calls"].empty(); }

/// Empty: it is not among those that the gateway lists. Keys of other calls may begin with that of
/// this one, and the newest of all these are listed.
std::string newest_call(Shell& shell, const std::string& flow, const Document& node) {
  if (!has_calls(node)) return {};
  const std::string key = fmt::format("{}-{}", flow, node["calls"].back().get<std::uint64_t>());
  const Answer answer(shell.client().get("/v1/invocations?limit=1000&key=" + key));
  std::string invocation;
  for (const JsonObject& call : answer.root().objects("invocations"))
    if (call.text("idempotency_key") == key) invocation = call.text("id");
  answer.check();
  return invocation;
}

void print_node(Shell& shell, const FlowStatus& flow, const Document& nodes, const Document& node) {
  shell.print_line(fmt::format("node {} of flow {} ({}): {}, {} of {}", word_of(node, "node"),
                               flow.name, flow.id, word_of(node, "state"),
                               node.value("done", std::uint64_t{0}),
                               node.value("total", std::uint64_t{0})));
  const std::string decided = word_of(node, "why");
  shell.print_line("  " + (decided.empty() ? "no optimiser has decided anything of it; nodes that "
                                             "are ready take turns"
                                           : decided));
  if (const std::string before = what_it_waits_for(nodes, node);
      word_of(node, "state") == "waiting" && !before.empty())
    shell.print_line("  it waits for " + before);
  if (!flow.message.empty())
    shell.print_line(fmt::format("  the flow is {}: {}", flow.state, flow.message));
}

}  // namespace

ExitStatus explain_flow(Shell& shell, const std::string& id) {
  const FlowStatus flow = shell.client().submitted_flow(id).status();
  if (shell.json) {
    print_answer(shell, flow.json);
    return ExitStatus::ok;
  }
  const Document nodes = nodes_in(flow);
  Table table({"node", "state", "why"});
  for (const Document& node : nodes)
    table.add({word_of(node, "node"), word_of(node, "state"), reason_of_node(nodes, node, flow)});
  shell.print(table.text());
  return ExitStatus::ok;
}

NodeExplanation explain_node(Shell& shell, const std::string& id, const std::string& name) {
  const FlowStatus flow = shell.client().submitted_flow(id).status();
  const Document nodes = nodes_in(flow);
  for (const Document& node : nodes) {
    if (word_of(node, "node") != name) continue;
    const std::string invocation = newest_call(shell, id, node);
    if (shell.json) {
      Document document{{"id", flow.id}, {"node", node}};
      if (!invocation.empty()) document["invocation"] = invocation;
      print_document(shell, document);
    } else {
      print_node(shell, flow, nodes, node);
      if (has_calls(node) && invocation.empty())
        shell.print_line("  its newest call is not listed any more, or not yet");
    }
    return {.status = ExitStatus::ok, .invocation = invocation};
  }
  return {.status = shell.report_usage(
              fmt::format("flow {} has no node '{}'; it has: {}", id, name, names_of(nodes)))};
}

}  // namespace orchid::cli
