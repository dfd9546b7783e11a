// commands/explain.cpp: orchid explain: why a call or a lease is where it is, or nowhere.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands/commands.h"
#include "terminal/documents.h"
#include "terminal/duration.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

using nlohmann::json;

struct ExplainArguments {
  std::string id;
  unsigned cores = 1;
  unsigned gpus = 0;
};

std::string decision_text(const json& decision) {
  std::string text =
      decision.value("placed", false) ? "placed" : "refused: " + decision.value("refusal", "");
  text += " (policy " + decision.value("policy", "") + ", " +
          format_duration(std::chrono::milliseconds(decision.value("age_ms", std::int64_t{0}))) +
          " ago)\n";
  const json chosen = decision.value("chosen", json::array());
  for (const json& place : chosen) text += "  on " + place.get<std::string>() + "\n";
  const json alternatives = decision.value("alternatives", json::array());
  for (const json& tried : alternatives) {
    const std::string wanted = tried.value("wanted", "");
    text +=
        "  " + (wanted.empty() ? "" : "for " + wanted + ": ") + tried.value("summary", "") + "\n";
    const json examples = tried.value("examples", json::array());
    for (const json& example : examples) text += "    not " + example.get<std::string>() + "\n";
  }
  return text;
}

ExitStatus print_decisions(Shell& shell, const std::string& text) {
  if (shell.json) {
    print_answer(shell, text);
    return ExitStatus::ok;
  }
  const json document = json::parse(text);
  for (const json& decision : document.at("decisions")) shell.print(decision_text(decision));
  return ExitStatus::ok;
}

ExitStatus explain_now(Shell& shell, const ExplainArguments& arguments) {
  std::string target = "/v1/placement?cores=" + std::to_string(arguments.cores);
  if (arguments.gpus > 0) target += "&gpus=" + std::to_string(arguments.gpus);
  const std::string text = shell.client().get(target);
  if (shell.json) {
    print_answer(shell, text);
    return ExitStatus::ok;
  }
  const json document = json::parse(text);
  Table table({"host", "room", "why"});
  for (const json& host : document.at("hosts"))
    table.add(
        {host.value("host", ""), host.value("fits", false) ? "yes" : "no", host.value("text", "")});
  if (table.empty())
    shell.note(
        "no host is known; 'orchid up' starts an executor on this one, 'orchid pilot start' "
        "asks Slurm for some");
  else
    shell.print(table.text());
  return ExitStatus::ok;
}

std::string placement_of(Shell& shell, const std::string& lease) {
  return shell.client().get("/v1/leases/" + lease + "/placement");
}

/// Nothing: there is no lease, or what was decided about it is no more remembered and need not be.
std::optional<std::string> decisions_about(Shell& shell, const std::string& lease,
                                           bool may_be_forgotten) {
  if (lease.empty()) return std::nullopt;
  try {
    return placement_of(shell, lease);
  } catch (const Error& error) {
    if (!may_be_forgotten || error.kind() != ErrorKind::not_found) throw;
    return std::nullopt;
  }
}

ExitStatus run_explain(Shell& shell, const ExplainArguments& arguments) {
  if (arguments.id.empty()) return explain_now(shell, arguments);
  if (!arguments.id.starts_with("i-"))
    return print_decisions(shell, placement_of(shell, arguments.id));
  const json invocation = json::parse(shell.client().get("/v1/invocations/" + arguments.id));
  const std::string lease = invocation.value("lease", "");
  const std::string node = invocation.value("node", "");
  if (const auto decisions = decisions_about(shell, lease, /*may_be_forgotten=*/node.empty())) {
    if (!shell.json)
      shell.print_line(node.empty() ? "it has reached no worker; when one was last looked for:"
                                    : "it ran on " + node + ", in a worker of lease " + lease);
    return print_decisions(shell, *decisions);
  }
  const std::string message = invocation.value("message", "");
  if (!shell.json)
    shell.note("it has reached no worker" + (message.empty() ? "" : ": " + message) +
               "; for a worker of one core there is now:");
  return explain_now(shell, arguments);
}

}  // namespace

void add_explain(CLI::App& app, Shell& shell) {
  auto* command = add_command(
      app, shell, "explain", "Say why a call or a lease was placed where it is, or why nowhere",
      "  orchid explain i-0123456789abcdef   (a call)\n"
      "  orchid explain l-3-17               (a lease, also one that was refused)\n"
      "  orchid explain --cores 4            (each host, for a worker of 4 cores now)");
  auto arguments = std::make_shared<ExplainArguments>();
  command->add_option("id", arguments->id, "of an invocation or a lease; none: each host as it is");
  command->add_option("--cores", arguments->cores, "of the worker that is looked for")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--gpus", arguments->gpus, "of the worker that is looked for")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->callback([&shell, arguments] { shell.status = run_explain(shell, *arguments); });
}

}  // namespace orchid::cli
