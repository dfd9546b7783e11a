// commands/explain.cpp: orchid explain: why a call or a lease is where it is, or nowhere.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "commands/commands.h"
#include "foundation/amounts.h"
#include "foundation/units.h"
#include "pilot/pilot_logs.h"
#include "supervisor/pilot_owner.h"
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
  std::string memory;
  std::map<std::string, std::string> wishes;  // of its host, by the parameter's name
};

/// Such texts go into a query as they are.
std::string check_name(const std::string& text) {
  const bool good = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-,").contains(c);
  });
  return good ? "" : "'" + text + "' is not a name: use letters, digits and ._-";
}

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

/// Where the gateway is one of this host, and keeps pilots by demand.
void say_why_no_pilot_comes(Shell& shell) {
  const auto owner = find_pilot_owner(shell.gateway);
  if (!owner) return;  // elsewhere: whoever runs it can ask
  for (const std::string& line : pilot::noted_trouble(owner->log_folder())) shell.note(line);
}

ExitStatus print_decisions(Shell& shell, const std::string& text) {
  if (shell.json) {
    print_answer(shell, text);
    return ExitStatus::ok;
  }
  const json document = json::parse(text);
  const json& decisions = document.at("decisions");
  for (const json& decision : decisions) shell.print(decision_text(decision));
  if (!decisions.empty() && !decisions.back().value("placed", false)) say_why_no_pilot_comes(shell);
  return ExitStatus::ok;
}

std::string count_of(const json& node, const char* key, const char* one) {
  const auto count = node.value(key, 0U);
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

/// Nodes of clusters on which nobody has granted anything: no executor is there to be asked.
void add_bare_nodes(Shell& shell, const std::set<std::string>& known, Table& table) {
  const json document = json::parse(shell.client().get("/v1/hosts"));
  const json clusters = document.value("clusters", json::array());
  for (const json& cluster : clusters) {
    const json nodes = cluster.value("nodes", json::array());
    for (const json& node : nodes) {
      const std::string name = node.value("name", "");
      if (known.contains(name)) continue;
      const std::string state = node.value("state", "");
      table.add(
          {name, "no",
           state == "unusable"
               ? "no executor, and the cluster does not offer it now ('orchid hosts' says why)"
           : node.value("cores_free", 0U) == 0
               ? "no executor, and jobs have all its cores"
               : "no executor: " + count_of(node, "cores_free", "core") +
                     " that a pilot could grant"});
    }
  }
}

ExitStatus explain_now(Shell& shell, const ExplainArguments& arguments) {
  std::string target = "/v1/placement?cores=" + std::to_string(arguments.cores);
  if (arguments.gpus > 0) target += "&gpus=" + std::to_string(arguments.gpus);
  if (!arguments.memory.empty()) {
    const auto memory = parse_byte_count(arguments.memory);
    if (!memory) return shell.report_usage("--memory: " + memory.error().message);
    target += "&memory_bytes=" + std::to_string(memory->value);
  }
  for (const auto& [name, value] : arguments.wishes) target += "&" + name + "=" + value;
  const std::string text = shell.client().get(target);
  if (shell.json) {
    print_answer(shell, text);
    return ExitStatus::ok;
  }
  const json document = json::parse(text);
  Table table({"host", "room", "why"});
  std::set<std::string> known;
  bool fits = false;
  for (const json& host : document.at("hosts")) {
    fits = fits || host.value("fits", false);
    known.insert(host.value("host", ""));
    table.add(
        {host.value("host", ""), host.value("fits", false) ? "yes" : "no", host.value("text", "")});
  }
  add_bare_nodes(shell, known, table);
  if (table.empty())
    shell.note(
        "no host is known; 'orchid up' starts an executor on this one, 'orchid pilot start' "
        "asks Slurm for some, 'orchid pilot list' shows what became of them");
  else
    shell.print(table.text());
  if (!fits) say_why_no_pilot_comes(shell);
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
  const bool is_lease = arguments.id.starts_with("l-");
  if (!is_lease && !arguments.id.starts_with("i-"))
    return shell.report_usage("'" + arguments.id +
                              "' is not an id: calls have ids like i-0123456789abcdef, leases ids "
                              "like l-3-17; without an id the hosts are listed");
  if (is_lease) return print_decisions(shell, placement_of(shell, arguments.id));
  const json invocation = json::parse(shell.client().get("/v1/invocations/" + arguments.id));
  const std::string lease = invocation.value("lease", "");
  const std::string node = invocation.value("node", "");
  if (const auto decisions = decisions_about(shell, lease, /*may_be_forgotten=*/node.empty())) {
    if (!shell.json)
      shell.print_line(node.empty()
                           ? "the call has reached no worker; the last search for one:"
                           : "the call ran on " + node + ", in a worker of lease " + lease);
    return print_decisions(shell, *decisions);
  }
  const std::string message = invocation.value("message", "");
  if (!shell.json)
    shell.note("the call has reached no worker" + (message.empty() ? "" : ": " + message) +
               "; each host now, for a worker with one core:");
  return explain_now(shell, arguments);
}

}  // namespace

void add_explain(CLI::App& app, Shell& shell) {
  auto* command = add_command(
      app, shell, "explain", "Say why a call or a lease was placed where it is, or was not placed",
      "  orchid explain i-0123456789abcdef   (a call)\n"
      "  orchid explain l-3-17               (a lease, also one that was refused)\n"
      "  orchid explain --cores 4            (each host, for a worker of 4 cores now)\n"
      "  orchid explain --gpus 1 --gpu-model a100 --features ib,ssd");
  auto arguments = std::make_shared<ExplainArguments>();
  command->add_option("id", arguments->id,
                      "of an invocation or a lease; without it, each host is listed");
  command->add_option("--cores", arguments->cores, "cores of the worker")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--gpus", arguments->gpus, "GPUs of the worker")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--memory", arguments->memory, "memory of the worker, such as 4GiB");
  const auto wish = [&](const std::string& flag, const char* parameter, const char* what) {
    command
        ->add_option_function<std::string>(
            flag,
            [arguments, parameter](const std::string& text) {
              arguments->wishes[parameter] = text;
            },
            what)
        ->check(check_name);
  };
  wish("--gpu-model", "gpu_model", "model of the worker's GPUs");
  wish("--host", "host", "name of its host");
  wish("--avoid-host", "avoid_host", "names of hosts that it must not be on: n1,n2");
  wish("--kind", "kind", "kind of its host: cpu, gpu or dpu");
  wish("--architecture", "architecture", "architecture of its host: x86_64, aarch64");
  wish("--features", "features", "features that its host must have: ib,ssd");
  command->callback([&shell, arguments] { shell.status = run_explain(shell, *arguments); });
}

}  // namespace orchid::cli
