#include "flows/flow_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "terminal/documents.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

constexpr std::string_view id_prefix = "fl-";
constexpr std::size_t id_digits = 16;

std::string text_of(const Document& document, const char* key) {
  return document.value(key, std::string());
}

std::string progress_of(const Document& node) {
  return fmt::format("{} of {}", node.value("done", std::uint64_t{0}),
                     node.value("total", std::uint64_t{0}));
}

}  // namespace

bool is_flow_id(const std::string& text) {
  return text.size() == id_prefix.size() + id_digits && text.starts_with(id_prefix) &&
         std::ranges::all_of(text.substr(id_prefix.size()), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string line_of_event(const FlowEvent& event) {
  const Document data = Document::parse(event.data, nullptr, /*allow_exceptions=*/false);
  if (!data.is_object()) return {};
  if (event.name == "attempt") return text_of(data, "message");
  if (event.name == "node") {
    const std::string state = text_of(data, "state");
    if (state == "running" || state == "waiting") return {};
    return fmt::format("{}: {}, {}", text_of(data, "node"), state, progress_of(data));
  }
  if (event.name == "state" && text_of(data, "state") == "suspended")
    return "suspended: " + text_of(data, "message");
  return {};
}

std::string reason_of(const FlowStatus& status) {
  if (status.state == "failed")
    return status.message + "; 'orchid flow retry " + status.id + "' goes on from there";
  if (status.state == "suspended") return status.message;
  return "flow " + status.id + " is " + status.state;
}

ExitStatus exit_status_of_flow(const FlowStatus& status) {
  return status.state == "done" ? ExitStatus::ok : ExitStatus::function_failed;
}

ExitStatus show_flow(Shell& shell, const std::string& id) {
  const FlowStatus status = shell.client().submitted_flow(id).status();
  if (shell.json) {
    print_answer(shell, status.json);
    return ExitStatus::ok;
  }
  shell.print_line(fmt::format("{} {}: {}{}{}", status.id, status.name, status.state,
                               status.message.empty() ? "" : ": ", status.message));
  Table table({"node", "kind", "state", "progress", "begun", "ended", "why"});
  const Document document = Document::parse(status.json);
  if (document.contains("nodes"))
    for (const Document& node : document["nodes"])
      table.add({text_of(node, "node"), text_of(node, "kind"), text_of(node, "state"),
                 progress_of(node), text_of(node, "begun"), text_of(node, "ended"),
                 text_of(node, "why")});
  shell.print(table.text());
  return ExitStatus::ok;
}

}  // namespace orchid::cli
