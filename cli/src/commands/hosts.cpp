// commands/hosts.cpp: orchid hosts: the machines that Orchid has, and what is free on them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "foundation/units.h"
#include "terminal/answers.h"
#include "terminal/documents.h"
#include "terminal/duration.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

using Objects = std::vector<JsonObject>;

std::uint64_t count_of(const JsonObject& o, const char* key) {
  return o.number<std::uint64_t>(key);
}

std::string row_state(const Objects& executors) {
  const auto is_connected = [](const JsonObject& o) { return o.text("state") == "connected"; };
  return std::ranges::any_of(executors, is_connected) ? "connected" : "lost";
}

std::string sources_of(const Objects& executors) {
  std::set<std::string> sources;
  for (const JsonObject& executor : executors) {
    if (!executor.has("grant")) continue;
    const JsonObject grant = executor.object("grant");
    const std::uint64_t job = count_of(grant, "job");
    sources.insert(grant.text("source") + (job == 0 ? "" : " " + std::to_string(job)));
  }
  std::string text;
  for (const std::string& source : sources) text += (text.empty() ? "" : ", ") + source;
  return text;
}

/// "1 of 2 leased"; of those that Orchid may use.
std::string offered_gpus_of(const JsonObject& host) {
  const std::uint64_t all = count_of(host, "gpus_usable");
  if (all == 0) return "-";
  return std::to_string(count_of(host, "gpus_leased")) + " of " + std::to_string(all) + " leased";
}

/// "12 MiB of 1 GiB (4 MiB of it leased), 3 GiB on disk"; of all its executors.
std::string data_of(const Objects& executors) {
  const auto sum_of = [&](const char* key) {
    ByteCount sum;
    for (const JsonObject& executor : executors) sum.value += count_of(executor, key);
    return sum;
  };
  const ByteCount budget = sum_of("data_memory_bytes");
  if (budget.value == 0) return "-";
  std::string text = to_string(sum_of("data_used_bytes")) + " of " + to_string(budget);
  const ByteCount leased = sum_of("data_leased_bytes");
  if (leased.value != 0) text += " (" + to_string(leased) + " of it leased)";
  const ByteCount on_disk = sum_of("data_on_disk_bytes");
  if (on_disk.value != 0) text += ", " + to_string(on_disk) + " on disk";
  return text;
}

/// "-" for a machine of none; older gateways do not say.
std::string cluster_of(const JsonObject& host) {
  const std::string name = host.optional().text("cluster");
  return name.empty() ? "-" : name;
}

Table table_of_executors(const Objects& hosts) {
  Table table({"host", "cluster", "state", "from", "architecture", "cores", "leased", "gpus",
               "workers ready", "memory", "data", "cpu"});
  for (const JsonObject& host : hosts) {
    const Objects executors = host.objects("executors");
    std::uint64_t ready = 0;
    for (const JsonObject& executor : executors) ready += count_of(executor, "workers_ready");
    table.add({host.text(host.has("name") ? "name" : "hostname"), cluster_of(host),
               row_state(executors), sources_of(executors), host.text("architecture"),
               std::to_string(count_of(host, "cores")),
               std::to_string(count_of(host, "cores_leased")), offered_gpus_of(host),
               std::to_string(ready), to_string(ByteCount{count_of(host, "memory_bytes")}),
               data_of(executors), host.text("cpu")});
  }
  return table;
}

/// A line for each that cannot be used now; older gateways tell of none.
std::string faults_of_gpus(const Objects& hosts) {
  std::string text;
  for (const JsonObject& host : hosts)
    for (const JsonObject& executor : host.objects("executors")) {
      if (!executor.has("gpu_faults")) continue;
      for (const JsonObject& fault : executor.objects("gpu_faults"))
        text += "GPU " + std::to_string(count_of(fault, "index")) + " of " +
                host.text(host.has("name") ? "name" : "hostname") +
                " cannot be used: " + fault.text("reason") + "\n";
    }
  return text;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& one : texts) text += (text.empty() ? "" : ",") + one;
  return text;
}

std::string numbers_or_count(const JsonObject& node, const char* numbers, const char* count) {
  const std::string known = node.text(numbers);
  const std::string total = std::to_string(count_of(node, count));
  return known.empty() ? total : total + " (" + known + ")";
}

std::string gpus_of(const JsonObject& node) {
  const std::size_t count = node.size("gpus");
  if (count == 0) return "-";
  return numbers_or_count(node, "free_gpus", "gpus_free") + " of " + std::to_string(count);
}

std::string state_of(const JsonObject& node) {
  const std::string why = joined(node.texts("why"));
  return node.text("state") + (why.empty() ? "" : ": " + why);
}

/// "4 cores for 12 min, then 8".
std::string forecast_of(const JsonObject& node) {
  std::string text;
  for (const JsonObject& window : node.objects("forecast")) {
    text += (text.empty() ? "" : ", then ") + std::to_string(count_of(window, "cores"));
    if (window.has("until_s") && window.has("from_s"))
      text +=
          " for " + format_duration(std::chrono::seconds(window.number<std::int64_t>("until_s") -
                                                         window.number<std::int64_t>("from_s")));
  }
  return text.empty() ? "as now" : text;
}

std::string text_of_cluster(const JsonObject& cluster, bool forecast) {
  const std::string message = cluster.text("message");
  std::vector<std::string> heads{"node",       "kind",        "state",     "cores",
                                 "free cores", "memory free", "GPUs free", "features"};
  if (forecast) heads = {"node", "state", "free cores", "cores that stay free"};
  Table table(heads);
  for (const JsonObject& node : cluster.objects("nodes")) {
    const std::string free = numbers_or_count(node, "free_cores", "cores_free");
    if (forecast)
      table.add({node.text("name"), state_of(node), free, forecast_of(node)});
    else
      table.add({node.text("name"), node.text("kind"), state_of(node),
                 std::to_string(count_of(node, "cores")), free,
                 to_string(ByteCount{count_of(node, "memory_free_bytes")}), gpus_of(node),
                 joined(node.texts("features"))});
  }
  return "\ncluster " + cluster.text("cluster") + " (" + cluster.text("backend") + "), " +
         cluster.text("state") + (message.empty() ? "" : ": " + message) + "\n" +
         (table.empty() ? "" : table.text());
}

ExitStatus run_hosts(Shell& shell, bool forecast) {
  const std::string text = shell.client().get("/v1/hosts");
  if (shell.json) {
    print_answer(shell, text);
    return ExitStatus::ok;
  }
  const Answer answer(text);
  const Objects hosts = answer.root().objects("hosts");
  const Table executors = table_of_executors(hosts);
  const std::string faults = faults_of_gpus(hosts);
  std::string clusters;
  for (const JsonObject& cluster : answer.root().objects("clusters"))
    clusters += text_of_cluster(cluster, forecast);
  answer.check();
  if (!forecast && executors.empty())
    shell.note("no host is connected; 'orchid up' starts an executor on this one");
  else if (!forecast)
    shell.print(executors.text() + faults);
  if (forecast && clusters.empty())
    shell.note(
        "no batch system reports what will be free; see 'sources' in the gateway's settings");
  if (!clusters.empty()) shell.print(clusters);
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
