// commands/hosts.cpp: orchid hosts: the machines that Orchid has, and what is free on them.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "commands/commands.h"
#include "foundation/units.h"
#include "terminal/documents.h"
#include "terminal/duration.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

using nlohmann::json;

/// A count, or a list of which only the length matters.
std::uint64_t count_of(const json& document, const char* key) {
  const auto found = document.find(key);
  if (found == document.end()) return 0;
  return found->is_array() ? found->size() : found->get<std::uint64_t>();
}

std::string row_state(const json& executors) {
  for (const json& executor : executors)
    if (executor.value("state", "") == "connected") return "connected";
  return "lost";
}

std::string sources_of(const json& executors) {
  std::set<std::string> sources;
  for (const json& executor : executors)
    if (const json grant = executor.value("grant", json::object()); !grant.empty()) {
      const std::uint64_t job = grant.value("job", std::uint64_t{0});
      sources.insert(grant.value("source", "") + (job == 0 ? "" : " " + std::to_string(job)));
    }
  std::string text;
  for (const std::string& source : sources) text += (text.empty() ? "" : ", ") + source;
  return text;
}

/// "1 of 2 leased"; of those that Orchid may use.
std::string offered_gpus_of(const json& host) {
  const std::uint64_t all = count_of(host, "gpus_usable");
  if (all == 0) return "-";
  return std::to_string(count_of(host, "gpus_leased")) + " of " + std::to_string(all) + " leased";
}

void print_executors(Shell& shell, const json& hosts) {
  Table table({"host", "state", "from", "architecture", "cores", "leased", "gpus", "workers ready",
               "memory", "cpu"});
  for (const json& host : hosts) {
    const json executors = host.value("executors", json::array());
    std::uint64_t ready = 0;
    for (const json& executor : executors) ready += count_of(executor, "workers_ready");
    table.add({host.value("name", host.value("hostname", "")), row_state(executors),
               sources_of(executors), host.value("architecture", ""),
               std::to_string(count_of(host, "cores")),
               std::to_string(count_of(host, "cores_leased")), offered_gpus_of(host),
               std::to_string(ready), to_string(ByteCount{count_of(host, "memory_bytes")}),
               host.value("cpu", "")});
  }
  if (table.empty())
    shell.note("no host is connected; 'orchid up' starts an executor on this one");
  else
    shell.print(table.text());
}

std::string joined(const json& texts) {
  std::string text;
  for (const json& one : texts) text += (text.empty() ? "" : ",") + one.get<std::string>();
  return text;
}

std::string numbers_or_count(const json& node, const char* numbers, const char* count) {
  const std::string known = node.value(numbers, "");
  const std::string total = std::to_string(count_of(node, count));
  return known.empty() ? total : total + " (" + known + ")";
}

std::string gpus_of(const json& node) {
  const std::size_t count = node.value("gpus", json::array()).size();
  if (count == 0) return "-";
  return numbers_or_count(node, "free_gpus", "gpus_free") + " of " + std::to_string(count);
}

std::string state_of(const json& node) {
  const std::string why = joined(node.value("why", json::array()));
  return node.value("state", "") + (why.empty() ? "" : ": " + why);
}

/// "4 cores for 12 min, then 8".
std::string forecast_of(const json& node) {
  std::string text;
  const json windows = node.value("forecast", json::array());
  for (const json& window : windows) {
    text += (text.empty() ? "" : ", then ") + std::to_string(count_of(window, "cores"));
    if (window.contains("until_s") && window.contains("from_s"))
      text += " for " + format_duration(std::chrono::seconds(window["until_s"].get<std::int64_t>() -
                                                             window["from_s"].get<std::int64_t>()));
  }
  return text.empty() ? "as now" : text;
}

void print_cluster(Shell& shell, const json& cluster, bool forecast) {
  const std::string message = cluster.value("message", "");
  shell.print("\ncluster " + cluster.value("cluster", "") + " (" + cluster.value("backend", "") +
              "), " + cluster.value("state", "") + (message.empty() ? "" : ": " + message) + "\n");
  std::vector<std::string> heads{"node",       "kind",        "state",     "cores",
                                 "free cores", "memory free", "GPUs free", "features"};
  if (forecast) heads = {"node", "state", "free cores", "cores that stay free"};
  Table table(heads);
  const json nodes = cluster.value("nodes", json::array());
  for (const json& node : nodes) {
    const std::string free = numbers_or_count(node, "free_cores", "cores_free");
    if (forecast)
      table.add({node.value("name", ""), state_of(node), free, forecast_of(node)});
    else
      table.add({node.value("name", ""), node.value("kind", ""), state_of(node),
                 std::to_string(count_of(node, "cores")), free,
                 to_string(ByteCount{count_of(node, "memory_free_bytes")}), gpus_of(node),
                 joined(node.value("features", json::array()))});
  }
  if (!table.empty()) shell.print(table.text());
}

ExitStatus run_hosts(Shell& shell, bool forecast) {
  const std::string text = shell.client().get("/v1/hosts");
  if (shell.json) {
    print_answer(shell, text);
    return ExitStatus::ok;
  }
  const json document = json::parse(text);
  const json clusters = document.value("clusters", json::array());
  if (!forecast) print_executors(shell, document.at("hosts"));
  if (forecast && clusters.empty())
    shell.note(
        "no batch system reports what will be free; see 'sources' in the gateway's settings");
  for (const json& cluster : clusters) print_cluster(shell, cluster, forecast);
  return ExitStatus::ok;
}

}  // namespace

void add_hosts(CLI::App& app, Shell& shell) {
  auto* command = add_command(app, shell, "hosts", "Show the hosts and what is free on them",
                              "  orchid hosts\n  orchid hosts --forecast\n  orchid hosts --json");
  auto forecast = std::make_shared<bool>(false);
  command->add_flag("--forecast", *forecast,
                    "show which cores of each node stay free, and for how long");
  command->callback([&shell, forecast] { shell.status = run_hosts(shell, *forecast); });
}

}  // namespace orchid::cli
