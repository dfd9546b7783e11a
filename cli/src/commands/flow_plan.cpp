// commands/flow_plan.cpp: orchid flow plan: what a flow would do, and why.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/commands.h"
#include "flow/optimiser.h"
#include "flow/outlook.h"
#include "flow/values.h"
#include "flow_run/host_looks.h"
#include "flow_run/variant_file.h"
#include "flows/checked_file.h"
#include "flows/flow_libraries.h"
#include "flows/flow_values.h"
#include "flows/learned_variants.h"
#include "terminal/answers.h"
#include "terminal/documents.h"
#include "terminal/duration.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

struct PlanArguments {
  std::string file;
  std::vector<std::string> inputs;
  unsigned workers = 8;
  bool offline = false;
  bool by_gateway = false;
};

struct FreeHost {
  std::string name;
  std::uint64_t cores = 0;
  std::uint64_t free = 0;
};

std::vector<FreeHost> hosts_of(Client& client) {
  const Answer answer(client.get("/v1/hosts"));
  std::vector<FreeHost> hosts;
  for (const JsonObject& host : answer.root().objects("hosts")) {
    const auto usable =
        host.number<std::uint64_t>(host.has("cores_usable") ? "cores_usable" : "cores");
    const auto taken = host.flag("drained") ? usable : host.number<std::uint64_t>("cores_leased");
    hosts.push_back({.name = host.text(host.has("name") ? "name" : "hostname"),
                     .cores = host.number<std::uint64_t>("cores"),
                     .free = usable - std::min(usable, taken)});
  }
  answer.check();
  return hosts;
}

/// The median run time of each function's calls through the gateway that it still knows.
std::map<std::string, double> known_seconds(Client& client, const flow::Plan& plan) {
  std::map<std::string, std::vector<double>> times;  // by "N.E"
  const Answer answer(client.get("/v1/invocations"));
  constexpr double longest_ms = 1e12;
  for (const JsonObject& call : answer.root().objects("invocations"))
    if (call.text("outcome") == "ok")
      times[call.text("function") + "." + call.text("entry")].push_back(
          call.object("timings_ms").decimal("run", 0, longest_ms) / 1e3);
  answer.check();
  std::map<std::string, double> seconds;
  for (const auto& [function, signature] : functions_of(plan)) {
    const std::string& exact = exact_name(plan, function);
    const auto found = times.find(exact.substr(0, exact.find('@')));
    if (found == times.end()) continue;
    auto& all = found->second;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::ranges::nth_element(all, middle);
    seconds.emplace(function, *middle);
  }
  return seconds;
}

/// All that is said.
struct Prospects {
  flow::Outlook outlook;
  std::vector<FreeHost> hosts;
  std::string way;  // "lease" or "gateway"
  std::string why;
  std::uint32_t workers = 1;
  std::uint32_t window = 1;
  std::vector<std::pair<std::string, std::string>> optimisers;  // and what they go by
};

std::string why_by_gateway(const CheckedFile& checked, const PlanArguments& arguments) {
  if (arguments.by_gateway) return "--by-gateway asks for that";
  if (checked.needs.empty()) return "a node says where its calls are to run";
  const auto& [function, needs] = *checked.needs.begin();
  return fmt::format("{} needs {}, and a flow's lease has workers with one core", function, needs);
}

std::vector<DataId> given_objects(const flow::Plan& plan, const std::vector<flow::Value>& inputs) {
  std::vector<DataId> objects;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (plan.inputs[i].type.is_data() && inputs[i] != nullptr)
      objects.push_back(flow::data_of(*inputs[i]));
  return objects;
}

Prospects prospects_of(CheckedFile& checked, const PlanArguments& arguments,
                       std::vector<flow::Value> inputs) {
  const flow::Plan& plan = checked.plan;
  Prospects all;
  flow::OutlookOptions options{.inputs = std::move(inputs),
                               .kept = flow::read_variants(variants_file())};
  if (checked.client) {
    all.hosts = hosts_of(*checked.client);
    options.seconds = known_seconds(*checked.client, plan);
    options.hosts = flow::look_at_hosts(*checked.client);
    options.objects = flow::look_at_objects(*checked.client, given_objects(plan, options.inputs));
  }
  std::uint64_t free = 0;
  for (const FreeHost& host : all.hosts) free += host.free;
  all.workers = arguments.workers;
  if (checked.client)
    all.workers = std::max(1U, std::min(all.workers, static_cast<unsigned>(free)));
  const bool has_deadline = std::ranges::any_of(
      plan.nodes, [](const flow::PlannedNode& node) { return node.deadline.count() != 0; });
  const bool by_gateway = arguments.by_gateway || !checked.needs.empty() || has_constraints(plan);
  all.way = by_gateway ? "gateway" : "lease";
  all.window = by_gateway ? 2 * arguments.workers : all.workers * (has_deadline ? 1 : 4);
  all.why = by_gateway     ? why_by_gateway(checked, arguments)
            : has_deadline ? "no call waits behind another one, since a node has a deadline"
                           : "a call costs microseconds there, and 4 for each worker keep it busy";
  options.at_once = all.workers;
  all.outlook = outlook_of(plan, options);
  return all;
}

std::string text_of_seconds(const flow::NodeOutlook& node) {
  if (!node.seconds) return "not known";
  const std::string time = format_duration(
      std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(*node.seconds * 1e9)));
  return (node.is_least ? "at least " : "") + time;
}

void print_text(Shell& shell, const flow::Plan& plan, const Prospects& all) {
  shell.print_line(fmt::format("flow {}: {} {} in {} {}", plan.name, plan.nodes.size(),
                               plan.nodes.size() == 1 ? "node" : "nodes", all.outlook.waves,
                               all.outlook.waves == 1 ? "wave" : "waves"));
  shell.print_line(fmt::format("calls {}: {}",
                               all.way == "lease" ? "on workers of a lease" : "through the gateway",
                               all.why));
  std::vector<std::string> hosts;
  for (const FreeHost& host : all.hosts)
    hosts.push_back(fmt::format("{} ({} of {} cores free)", host.name, host.free, host.cores));
  if (!hosts.empty()) shell.print_line(fmt::format("hosts: {}", fmt::join(hosts, ", ")));
  shell.print_line(fmt::format("{} {} run side by side, and {} are under way at most", all.workers,
                               all.workers == 1 ? "call" : "calls", all.window));
  for (const auto& [name, description] : all.optimisers)
    shell.print_line(fmt::format("optimised by {}: {}", name, description));
  Table table({"wave", "node", "kind", "calls", "side by side", "time", "critical", "why"});
  for (std::uint32_t wave = 0; wave < all.outlook.waves; ++wave)
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      const flow::NodeOutlook& node = all.outlook.nodes[i];
      if (node.wave != wave) continue;
      table.add({std::to_string(wave + 1), plan.nodes[i].name,
                 std::string(to_string(plan.nodes[i].kind)),
                 node.calls ? std::to_string(*node.calls) : "?", std::to_string(node.at_once),
                 text_of_seconds(node), node.is_critical ? "yes" : "", node.why});
    }
  shell.print(table.text());
  if (all.outlook.seconds)
    shell.print_line(fmt::format(
        "the critical path takes {}",
        text_of_seconds({.seconds = all.outlook.seconds, .is_least = all.outlook.is_least})));
  else
    shell.print_line(
        "no time is known of some functions: those of calls through the gateway that it still has "
        "count");
}

Document document_of(const flow::Plan& plan, const Prospects& all) {
  Document nodes = Document::array();
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const flow::NodeOutlook& node = all.outlook.nodes[i];
    nodes.push_back({{"node", plan.nodes[i].name},
                     {"kind", to_string(plan.nodes[i].kind)},
                     {"wave", node.wave + 1},
                     {"calls", node.calls ? Document(*node.calls) : Document()},
                     {"why", node.why},
                     {"at_once", node.at_once},
                     {"seconds", node.seconds ? Document(*node.seconds) : Document()},
                     {"is_least", node.is_least},
                     {"critical", node.is_critical}});
  }
  Document hosts = Document::array();
  for (const FreeHost& host : all.hosts)
    hosts.push_back({{"host", host.name}, {"cores", host.cores}, {"cores_free", host.free}});
  Document optimisers = Document::array();
  for (const auto& [name, description] : all.optimisers)
    optimisers.push_back({{"optimiser", name}, {"why", description}});
  return {{"flow", plan.name},
          {"optimisers", optimisers},
          {"waves", all.outlook.waves},
          {"way", all.way},
          {"why", all.why},
          {"workers", all.workers},
          {"window", all.window},
          {"hosts", hosts},
          {"seconds", all.outlook.seconds ? Document(*all.outlook.seconds) : Document()},
          {"is_least", all.outlook.is_least},
          {"nodes", nodes}};
}

ExitStatus run_plan(Shell& shell, const PlanArguments& arguments) {
  auto checked = checked_file(shell, arguments.file, arguments.offline);
  if (!checked) return shell.status;
  std::vector<std::string> given = arguments.inputs;
  if (!arguments.offline) {
    Client client = shell.client();
    given = with_data_ids(client, checked->plan, std::move(given));
  }
  auto inputs = known_values(checked->plan, given);
  if (!inputs) return shell.report(inputs.error());
  Prospects all = prospects_of(*checked, arguments, std::move(*inputs));
  // A library is loaded, and so is found to be none before the flow runs.
  const flow::OpenLibrary open = opener_of_libraries(arguments.file);
  for (const flow::PlannedOptimiser& planned : checked->plan.optimisers) {
    Result<std::unique_ptr<flow::Optimiser>> optimiser =
        planned.is_library() ? open(planned)
                             : Result<std::unique_ptr<flow::Optimiser>>(make_optimiser(planned));
    if (!optimiser) return shell.report(optimiser.error());
    all.optimisers.emplace_back((*optimiser)->name(), (*optimiser)->description());
  }
  if (shell.json)
    print_document(shell, document_of(checked->plan, all));
  else
    print_text(shell, checked->plan, all);
  return ExitStatus::ok;
}

}  // namespace

void add_flow_plan(CLI::App& flows, Shell& shell) {
  auto* command =
      add_command(flows, shell, "plan", "Say what a flow would do, and why; nothing runs",
                  "  orchid flow plan search.yaml\n"
                  "  orchid flow plan idw.yaml --input stations=@stations.npy --workers 64");
  auto arguments = std::make_shared<PlanArguments>();
  command->add_option("FILE", arguments->file, "the flow, YAML or JSON; -: standard input")
      ->required();
  command->add_option("--input,-i", arguments->inputs,
                      "as for `orchid flow run`; what is not given makes some numbers unknown");
  command->add_option("--workers", arguments->workers, "so many at most (default: 8)")
      ->check(CLI::Range(1U, 1024U));
  command->add_flag("--offline", arguments->offline,
                    "ask no Orchid: hosts and times are not known then");
  command->add_flag("--by-gateway", arguments->by_gateway, "as for `orchid flow run`");
  command->callback([&shell, arguments] { shell.status = run_plan(shell, *arguments); });
}

}  // namespace orchid::cli
