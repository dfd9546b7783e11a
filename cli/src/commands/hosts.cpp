// commands/hosts.cpp: orchid hosts: the machines that Orchid has, and what is free on them.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "foundation/units.h"
#include "terminal/documents.h"
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

ExitStatus run_hosts(Shell& shell) {
  const std::string text = shell.client().get("/v1/hosts");
  if (shell.json) {
    print_answer(shell, text);
    return ExitStatus::ok;
  }
  const json document = json::parse(text);
  Table table(
      {"host", "state", "architecture", "cores", "leased", "workers ready", "memory", "cpu"});
  for (const json& host : document.at("hosts")) {
    const json executors = host.value("executors", json::array());
    std::uint64_t ready = 0;
    for (const json& executor : executors) ready += count_of(executor, "workers_ready");
    table.add({host.value("hostname", ""), row_state(executors), host.value("architecture", ""),
               std::to_string(count_of(host, "cores")),
               std::to_string(count_of(host, "cores_leased")), std::to_string(ready),
               to_string(ByteCount{count_of(host, "memory_bytes")}), host.value("cpu", "")});
  }
  if (table.empty()) {
    shell.note("no host is connected; 'orchid up' starts an executor on this one");
  } else {
    shell.print(table.text());
  }
  return ExitStatus::ok;
}

}  // namespace

void add_hosts(CLI::App& app, Shell& shell) {
  auto* command = add_command(app, shell, "hosts", "Show the hosts and what is free on them",
                              "  orchid hosts\n  orchid hosts --json");
  command->callback([&shell] { shell.status = run_hosts(shell); });
}

}  // namespace orchid::cli
