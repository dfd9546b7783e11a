// commands/leases.cpp: orchid leases: the workers that programs of yours hold, and giving them
// back.
#include <CLI/CLI.hpp>
#include <chrono>
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

std::string nodes_of(const json& lease) {
  std::set<std::string> names;
  const json workers = lease.value("workers", json::array());
  for (const json& worker : workers) names.insert(worker.value("node", ""));
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

/// Of the workers that are there, without repetition; else of what was asked for.
std::string texts_of(const json& lease, std::string (*text_of)(const json&)) {
  std::set<std::string> texts;
  const json workers = lease.value("workers", json::array());
  for (const json& worker : workers)  // older gateways say it of the lease alone
    if (worker.contains("cores")) texts.insert(text_of(worker));
  if (texts.empty())
    for (const json& shape : lease.value("alternatives", json::array({lease})))
      texts.insert(text_of(shape));
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : " or ") + text;
  return joined;
}

std::string cores_of(const json& worker) {
  const auto gpus = worker.value("gpus", json());
  const std::uint64_t count = gpus.is_array()    ? gpus.size()
                              : gpus.is_number() ? gpus.get<std::uint64_t>()
                                                 : 0;
  const std::string cores =
      std::to_string(worker.value("cores", worker.value("cores_per_worker", 0U)));
  return count == 0 ? cores : cores + " + " + std::to_string(count) + " GPU";
}

std::string memory_of(const json& worker) {
  return to_string(ByteCount{worker.value("memory_bytes", std::uint64_t{0})});
}

std::string workers_of(const json& lease) {
  return std::to_string(lease.value("workers", json::array()).size()) + " of " +
         std::to_string(lease.value("workers_wanted", 0U));
}

ExitStatus run_leases(Shell& shell) {
  const std::string text = shell.client().get("/v1/leases");
  if (shell.json) {
    print_answer(shell, text);
    return ExitStatus::ok;
  }
  const json document = json::parse(text);
  Table table(
      {"lease", "state", "workers", "cores each", "memory each", "wait", "hosts", "ends in"});
  for (const json& lease : document.at("leases")) {
    const std::chrono::milliseconds left(lease.value("expires_in_ms", std::int64_t{0}));
    table.add({lease.value("id", ""), lease.value("state", ""), workers_of(lease),
               texts_of(lease, cores_of), texts_of(lease, memory_of), lease.value("wait", ""),
               nodes_of(lease), format_duration(left)});
  }
  if (table.empty()) {
    shell.note("you hold no lease; programs take them with Client::lease");
  } else {
    shell.print(table.text());
  }
  return ExitStatus::ok;
}

ExitStatus run_release(Shell& shell, const std::vector<std::string>& ids) {
  Client client = shell.client();
  for_each_name(shell, ids, "leases", [&](const std::string& id) {
    client.release_lease(id);
    if (!shell.json) shell.print_line("released " + id);
    return Document{{"id", id}, {"released", true}};
  });
  return ExitStatus::ok;
}

}  // namespace

void add_leases(CLI::App& app, Shell& shell) {
  auto* command = add_command(app, shell, "leases", "Show the workers that your programs hold",
                              "  orchid leases\n  orchid leases --release l-3-17");
  auto released = std::make_shared<std::vector<std::string>>();
  command->add_option("--release", *released,
                      "give these leases' workers back; their programs get an error");
  command->callback([&shell, released] {
    shell.status = released->empty() ? run_leases(shell) : run_release(shell, *released);
  });
}

}  // namespace orchid::cli
