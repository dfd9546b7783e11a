// commands/explain.cpp: orchid explain: why a call or a lease is where it is, or nowhere, and why
// nodes of a flow stand as they do.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "commands/commands.h"
#include "flows/flow_explanation.h"
#include "flows/flow_report.h"
#include "foundation/amounts.h"
#include "foundation/percent_encoding.h"
#include "foundation/units.h"
#include "pilot/pilot_logs.h"
#include "placement/shape_text.h"
#include "supervisor/pilot_owner.h"
#include "terminal/answers.h"
#include "terminal/documents.h"
#include "terminal/duration.h"
#include "terminal/table.h"
#include "terminal/traced_calls.h"

namespace orchid::cli {
namespace {

struct ExplainArguments {
  std::string id;
  std::string node;  // of the flow `id`
  unsigned cores = 1;
  unsigned gpus = 0;
  std::string memory;
  std::string needs;
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

std::string decision_text(const JsonObject& decision) {
  std::string text = decision.flag("placed") ? "placed" : "refused: " + decision.text("refusal");
  text += " (policy " + decision.text("policy") + ", " +
          format_duration(std::chrono::milliseconds(decision.number<std::int64_t>("age_ms"))) +
          " ago)\n";
  if (const std::string holder = decision.text("data_at"); !holder.empty())
    text += "  the data of its calls is at the executor " + holder +
            ", of those that could run them the one with most of it: no policy was asked\n";
  for (const std::string& place : decision.texts("chosen")) text += "  on " + place + "\n";
  for (const JsonObject& tried : decision.objects("alternatives")) {
    const std::string wanted = tried.text("wanted");
    text += "  " + (wanted.empty() ? "" : "for " + wanted + ": ") + tried.text("summary") + "\n";
    for (const std::string& example : tried.texts("examples")) text += "    not " + example + "\n";
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
  const Answer answer(text);
  std::string decided;
  bool placed = true;  // by the last of them
  for (const JsonObject& decision : answer.root().objects("decisions")) {
    decided += decision_text(decision);
    placed = decision.flag("placed");
  }
  answer.check();
  if (!decided.empty()) shell.print(decided);
  if (!placed) say_why_no_pilot_comes(shell);
  return ExitStatus::ok;
}

std::string cores_text(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " core" : " cores");
}

std::string why_bare(const JsonObject& node) {
  const auto free = node.number<std::uint64_t>("cores_free");
  if (node.text("state") == "unusable")
    return "no executor, and the cluster does not offer it now ('orchid hosts' says why)";
  if (free == 0) return "no executor, and jobs have all its cores";
  return "no executor: " + cores_text(free) + " that a pilot could grant";
}

/// Nodes of clusters on which nobody has granted anything: no executor is there to be asked.
void add_bare_nodes(Shell& shell, const std::set<std::string>& known, Table& table) {
  const Answer answer(shell.client().get("/v1/hosts"));
  for (const JsonObject& cluster : answer.root().objects("clusters"))
    for (const JsonObject& node : cluster.objects("nodes"))
      if (const std::string name = node.text("name"); !known.contains(name))
        table.add({name, "no", why_bare(node)});
  answer.check();
}

Result<std::string> placement_target(const ExplainArguments& arguments) {
  std::string target = "/v1/placement?";
  if (!arguments.needs.empty()) {
    if (const auto shapes = placement::parse_shapes(arguments.needs); !shapes)
      return fail(shapes.error().code, "--needs: " + shapes.error().message);
    target += "needs=" + percent_encode(arguments.needs);
  } else {
    target += "cores=" + std::to_string(arguments.cores);
    if (arguments.gpus > 0) target += "&gpus=" + std::to_string(arguments.gpus);
    if (!arguments.memory.empty()) {
      const auto memory = parse_byte_count(arguments.memory);
      if (!memory) return fail(memory.error().code, "--memory: " + memory.error().message);
      target += "&memory_bytes=" + std::to_string(memory->value);
    }
  }
  for (const auto& [name, value] : arguments.wishes) target += "&" + name + "=" + value;
  return target;
}

/// Which of them a worker would have now, and why none of the better ones.
void print_alternatives(Shell& shell, const JsonObject& answer) {
  const bool any = answer.has("chosen");
  const auto chosen = any ? answer.number<std::size_t>("chosen") : std::size_t{0};
  std::size_t index = 0;
  for (const JsonObject& one : answer.objects("alternatives")) {
    if (any && index == chosen)
      return shell.print_line("a worker would have " + one.text("wanted") + ":");
    shell.print_line("not " + one.text("wanted") + ":");
    for (const JsonObject& host : one.objects("hosts")) shell.print_line("  " + host.text("text"));
    ++index;
  }
  shell.print_line("there is no room for any of them now; for the last of them:");
}

ExitStatus explain_now(Shell& shell, const ExplainArguments& arguments) {
  const auto target = placement_target(arguments);
  if (!target) return shell.report_usage(target.error().message);
  const std::string text = shell.client().get(*target);
  if (shell.json) {
    print_answer(shell, text);
    return ExitStatus::ok;
  }
  const Answer answer(text);
  if (!arguments.needs.empty()) print_alternatives(shell, answer.root());
  Table table({"host", "room", "why"});
  std::set<std::string> known;
  bool fits = false;
  for (const JsonObject& host : answer.root().objects("hosts")) {
    fits = fits || host.flag("fits");
    known.insert(host.text("host"));
    table.add({host.text("host"), host.flag("fits") ? "yes" : "no", host.text("text")});
  }
  answer.check();
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

std::string calls_of(Shell& shell, const std::string& lease) {
  try {
    return shell.client().get("/v1/leases/" + lease + "/calls");
  } catch (const Error& error) {  // it has ended, or the gateway is older
    if (error.kind() != ErrorKind::not_found) throw;
    return {};
  }
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

/// What the call wanted of its host and of its worker.
ExplainArguments wishes_of(Shell& shell, const JsonObject& call) {
  ExplainArguments arguments;
  if (const std::string kind = call.text("host_kind"); !kind.empty())
    arguments.wishes["kind"] = kind;
  if (const std::string cluster = call.text("cluster"); !cluster.empty())
    arguments.wishes["cluster"] = cluster;
  try {
    const FunctionInfo function = shell.client().describe(call.text("function"));
    arguments.needs = function.needs;
    for (const std::string& one : function.architectures) {
      std::string& images = arguments.wishes["images"];
      images += (images.empty() ? "" : ",") + one;
    }
  } catch (const Error& error) {  // it has been deleted meanwhile
    if (error.kind() != ErrorKind::not_found) throw;
  }
  return arguments;
}

ExitStatus explain_call(Shell& shell, const std::string& id) {
  const Answer answer(shell.client().get("/v1/invocations/" + id));
  const std::string lease = answer.root().text("lease");
  const std::string node = answer.root().text("node");
  const std::string message = answer.root().text("message");
  answer.check();
  if (const auto decisions = decisions_about(shell, lease, /*may_be_forgotten=*/node.empty())) {
    if (!shell.json)
      shell.print_line(node.empty()
                           ? "the call has reached no worker; the last search for one:"
                           : "the call ran on " + node + ", in a worker of lease " + lease);
    return print_decisions(shell, *decisions);
  }
  const ExplainArguments wishes = wishes_of(shell, answer.root());
  if (!shell.json)
    shell.note("the call has reached no worker" + (message.empty() ? "" : ": " + message) +
               "; each host now, for a worker with " +
               (wishes.needs.empty() ? "one core" : wishes.needs) + ":");
  return explain_now(shell, wishes);
}

ExitStatus explain_in_flow(Shell& shell, const ExplainArguments& arguments) {
  if (arguments.node.empty()) return explain_flow(shell, arguments.id);
  const NodeExplanation node = explain_node(shell, arguments.id, arguments.node);
  if (node.invocation.empty() || shell.json) return node.status;
  shell.print_line("its newest call, " + node.invocation + ":");
  try {
    return explain_call(shell, node.invocation);
  } catch (const Error& error) {  // of a call that ended long ago less is remembered
    if (error.kind() != ErrorKind::not_found) throw;
    shell.print_line("what was decided about its place is no more remembered");
    return ExitStatus::ok;
  }
}

ExitStatus run_explain(Shell& shell, const ExplainArguments& arguments) {
  if (arguments.id.empty()) return explain_now(shell, arguments);
  if (is_flow_id(arguments.id)) return explain_in_flow(shell, arguments);
  if (!arguments.node.empty())
    return shell.report_usage("only flows have nodes: 'orchid explain fl-0123456789abcdef NODE'");
  if (arguments.id.starts_with("l-")) {
    const ExitStatus status = print_decisions(shell, placement_of(shell, arguments.id));
    if (const std::string calls = calls_of(shell, arguments.id); !shell.json && !calls.empty())
      shell.print(paths_text(calls));
    return status;
  }
  if (arguments.id.starts_with("i-")) return explain_call(shell, arguments.id);
  return shell.report_usage("'" + arguments.id +
                            "' is not an id: calls have ids like i-0123456789abcdef, leases like "
                            "l-3-17, flows like fl-0123456789abcdef; without an id the hosts are "
                            "listed");
}

}  // namespace

void add_explain(CLI::App& app, Shell& shell) {
  auto* command = add_command(
      app, shell, "explain",
      "Say why a call, a lease or a node of a flow is where it is, or nowhere",
      "  orchid explain i-0123456789abcdef   (a call)\n"
      "  orchid explain l-3-17               (a lease, also one that was refused)\n"
      "  orchid explain fl-0123456789abcdef work   (a node of a flow; without its name, all)\n"
      "  orchid explain --cores 4            (each host, for a worker of 4 cores now)\n"
      "  orchid explain --gpus 1 --gpu-model a100 --features ib,ssd\n"
      "  orchid explain --needs '1 gpu | 4 cores'");
  auto arguments = std::make_shared<ExplainArguments>();
  command->add_option("id", arguments->id,
                      "of an invocation, a lease or a flow; without it, each host is listed");
  command->add_option("node", arguments->node, "of that flow");
  command->add_option("--cores", arguments->cores, "cores of the worker")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--gpus", arguments->gpus, "GPUs of the worker")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--memory", arguments->memory, "memory of the worker, such as 4GiB");
  command
      ->add_option("--needs", arguments->needs,
                   "what the worker has, as for 'orchid deploy': '1 gpu | 4 cores, 2 GiB'")
      ->excludes("--cores")
      ->excludes("--gpus")
      ->excludes("--memory");
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
  wish("--cluster", "cluster", "name of the cluster that its host is in");
  wish("--kind", "kind", "kind of its host: cpu, gpu or dpu");
  wish("--architecture", "architecture", "architecture of its host: x86_64, aarch64");
  wish("--images", "images",
       "architectures that the module has images for: x86_64,aarch64; its host has one of them");
  wish("--features", "features", "features that its host must have: ib,ssd");
  command->callback([&shell, arguments] { shell.status = run_explain(shell, *arguments); });
}

}  // namespace orchid::cli
