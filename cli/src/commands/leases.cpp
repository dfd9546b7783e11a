// commands/leases.cpp: orchid leases: the workers that programs of yours hold, and giving them
// back.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "commands/commands.h"
#include "foundation/units.h"
#include "terminal/answers.h"
#include "terminal/documents.h"
#include "terminal/duration.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

std::string nodes_of(const JsonObject& lease) {
  std::set<std::string> names;
  for (const JsonObject& worker : lease.objects("workers")) names.insert(worker.text("node"));
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

/// Of the workers that are there, without repetition; else of what was asked for.
template <typename OfWorker, typename OfShape>
std::string texts_of(const JsonObject& lease, OfWorker of_worker, OfShape of_shape) {
  std::set<std::string> texts;
  for (const JsonObject& worker : lease.objects("workers"))
    if (worker.has("cores")) texts.insert(of_worker(worker));  // older gateways do not say it
  if (texts.empty() && lease.has("alternatives"))
    for (const JsonObject& shape : lease.objects("alternatives")) texts.insert(of_shape(shape));
  else if (texts.empty())
    texts.insert(of_shape(lease));
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : " or ") + text;
  return joined;
}

std::string cores_text(std::uint64_t cores, std::uint64_t gpus) {
  return std::to_string(cores) + (gpus == 0 ? "" : " + " + std::to_string(gpus) + " GPU");
}
/// Its GPUs by number.
std::string cores_of_worker(const JsonObject& worker) {
  return cores_text(worker.number<std::uint64_t>("cores"), worker.size("gpus"));
}
/// How many of them are wanted.
std::string cores_of_shape(const JsonObject& shape) {
  const char* cores = shape.has("cores") ? "cores" : "cores_per_worker";
  return cores_text(shape.number<std::uint64_t>(cores), shape.number<std::uint64_t>("gpus"));
}

std::string memory_of(const JsonObject& worker) {
  return to_string(ByteCount{worker.number<std::uint64_t>("memory_bytes")});
}

std::string workers_of(const JsonObject& lease) {
  return std::to_string(lease.size("workers")) + " of " +
         std::to_string(lease.number<std::uint64_t>("workers_wanted")) +
         (lease.has("crew") && lease.flag("crew") ? ", a crew" : "");
}

ExitStatus run_leases(Shell& shell) {
  const std::string text = shell.client().get("/v1/leases");
  if (shell.json) {
    print_answer(shell, text);
    return ExitStatus::ok;
  }
  const Answer answer(text);
  Table table(
      {"lease", "state", "workers", "cores each", "memory each", "wait", "hosts", "ends in"});
  for (const JsonObject& lease : answer.root().objects("leases")) {
    const std::chrono::milliseconds left(lease.number<std::int64_t>("expires_in_ms"));
    if (lease.optional().text("kind") == "memory") {
      table.add({lease.text("id"), lease.text("state"), "memory", "-", memory_of(lease),
                 lease.text("wait"), lease.text("node"), format_duration(left)});
      continue;
    }
    table.add({lease.text("id"), lease.text("state"), workers_of(lease),
               texts_of(lease, cores_of_worker, cores_of_shape),
               texts_of(lease, memory_of, memory_of), lease.text("wait"), nodes_of(lease),
               format_duration(left)});
  }
  answer.check();
  if (table.empty()) {
    shell.note("you hold no lease; programs take them with Client::lease and Client::memory");
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
