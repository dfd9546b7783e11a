// commands/pilot.cpp: orchid pilot: batch jobs that hand a cluster's idle cores to an Orchid.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "commands/commands.h"
#include "commands/pilot_terms.h"
#include "foundation/amounts.h"
#include "foundation/json_document.h"
#include "foundation/numbers.h"
#include "pilot/batch_script.h"
#include "pilot/pilot_logs.h"
#include "pilot/removal.h"
#include "pilot/submission.h"
#include "supervisor/pilot_owner.h"
#include "terminal/documents.h"
#include "terminal/duration.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

using pilot::PilotJob;
using pilot::PilotOwner;
using pilot::PilotRequest;

struct StartArguments {
  PilotTerms terms;
  std::string time = "10m";
  std::string memory;
  std::string wait_at_most = "1h";
  unsigned count = 1;
  unsigned most = 8;
  bool dry_run = false;
};

struct StopArguments {
  std::vector<std::uint64_t> jobs;
  bool all = false;
  std::string within = "30s";
  std::string pause = "10m";
  std::string state;
};

/// For a worker on each core, beside what is kept for data.
Result<ByteCount> memory_of_node(Shell& shell, const PilotRequest& request) {
  const JsonDocument limits(shell.client().get("/v1/limits"),
                            {.subject = "the answer to /v1/limits"});
  const auto memory = limits.root().optional().number<std::uint64_t>("worker_memory_bytes");
  return limits.finish(
      ByteCount{memory * request.cores + request.data_memory.value_or(ByteCount{}).value});
}

Result<PilotRequest> request_of(const StartArguments& arguments, const PilotOwner& owner) {
  auto request = complete(arguments.terms, owner);
  if (!request) return request;
  auto time = seconds_of(arguments.time, "--time");
  if (!time) return fail(std::move(time.error()));
  request->time = *time;
  auto longest_wait = seconds_of(arguments.wait_at_most, "--wait-at-most");
  if (!longest_wait) return fail(std::move(longest_wait.error()));
  request->longest_wait = *longest_wait;
  if (arguments.memory.empty()) return request;
  auto memory = parse_byte_count(arguments.memory);
  if (!memory) return fail(std::move(memory.error()).while_doing("--memory"));
  request->memory = *memory;
  return request;
}

std::string describe(const PilotRequest& request) {
  const std::string gpus =
      request.gpus == 0 ? ""
                        : fmt::format(" and {} GPU{}", request.gpus, request.gpus == 1 ? "" : "s");
  return fmt::format("{} core{}{} on {} node{}{}, for {}", request.cores,
                     request.cores == 1 ? "" : "s", gpus, request.nodes,
                     request.nodes == 1 ? "" : "s",
                     request.partition.empty() ? "" : " of partition " + request.partition,
                     format_duration(request.time));
}

/// Where nobody can take its cores back, a pilot is as a job like any other.
void warn_of_no_priority(Shell& shell, const PilotRequest& request) {
  if (request.partition.empty() && request.qos.empty() && !shell.json)
    shell.note(
        "without --partition and --qos pilots go to the cluster's default partition: they queue "
        "behind all jobs that wait now, but later jobs may have to wait for their end; if there is "
        "a partition or QOS whose jobs are preempted by others, name it");
}

ExitStatus submit(Shell& shell, const StartArguments& arguments, const PilotRequest& request,
                  std::string script, const PilotOwner& owner) {
  const auto submitted =
      pilot::submit_pilots(slurm_commands(), pilot::SubmissionGate(owner.state),
                           {.job_name = request.job_name,
                            .script = std::move(script),
                            .count = arguments.count,
                            .most = arguments.most,
                            .say = [&shell](const std::string& line) { shell.note(line); }});
  if (!submitted) return shell.report(submitted.error());
  Document pilots = Document::array();
  for (const std::uint64_t job : submitted->jobs) {
    pilots.push_back({{"job", job}});
    if (!shell.json) shell.print_line(fmt::format("pilot {}: {}", job, describe(request)));
  }
  if (shell.json && !pilots.empty())
    print_document(shell, {{"pilots", pilots}, {"name", request.job_name}});
  return submitted->trouble ? ExitStatus::ok : shell.report(submitted->trouble.error());
}

ExitStatus run_start(Shell& shell, const StartArguments& arguments) {
  const auto owner = owner_for_pilots(shell.gateway, arguments.terms.state);
  if (!owner) return shell.report(owner.error());
  auto request = request_of(arguments, *owner);
  if (!request) return shell.report(request.error());
  if (const auto good = pilot::batch_script(*request); !good) return shell.report(good.error());
  if (arguments.memory.empty()) {
    const auto memory = memory_of_node(shell, *request);
    if (!memory) return shell.report(memory.error());
    request->memory = *memory;
  }
  const auto script = pilot::batch_script(*request);
  if (!script) return shell.report(script.error());
  warn_of_no_priority(shell, *request);
  if (!arguments.dry_run) return submit(shell, arguments, *request, *script, *owner);
  if (shell.json)
    print_document(shell, {{"script", *script}});
  else
    shell.print(*script);
  return ExitStatus::ok;
}

Document document_of(const PilotJob& job) {
  return {{"job", job.job},     {"state", job.state},        {"partition", job.partition},
          {"nodes", job.nodes}, {"cpus", job.cpus},          {"elapsed", job.elapsed},
          {"left", job.left},   {"where_or_why", job.reason}};
}

std::string none_of(const PilotOwner& owner) {
  return owner.mark.empty() ? "the gateway with its state in " + owner.state.string() +
                                  " has never had a pilot (--state names another one)"
                            : "no pilot of this gateway waits or runs";
}

ExitStatus run_list(Shell& shell, const std::string& state) {
  const auto owner = find_pilot_owner(shell.gateway, state);
  if (!owner) return shell.report(owner.error());
  const auto jobs = pilot::pilots_of(*owner, slurm_commands());
  if (!jobs) return shell.report(jobs.error());
  const auto trouble = pilot::noted_trouble(owner->log_folder());
  if (shell.json) {
    Document pilots = Document::array();
    for (const PilotJob& job : *jobs) pilots.push_back(document_of(job));
    Document document{{"pilots", std::move(pilots)}};
    if (!trouble.empty()) document["trouble"] = trouble;
    print_document(shell, document);
    return ExitStatus::ok;
  }
  Table table({"pilot", "state", "partition", "nodes", "cpus", "runs for", "time left",
               "nodes, or why it waits"});
  for (const PilotJob& job : *jobs)
    table.add({std::to_string(job.job), job.state, job.partition, std::to_string(job.nodes),
               std::to_string(job.cpus), job.elapsed, job.left, job.reason});
  if (table.empty())
    shell.note(none_of(*owner) + "; 'orchid pilot start' submits one");
  else
    shell.print(table.text());
  for (const std::string& line : trouble) shell.note(line);
  return ExitStatus::ok;
}

ExitStatus run_stop(Shell& shell, const StopArguments& arguments) {
  if (arguments.all == !arguments.jobs.empty())
    return shell.report_usage("name the pilots to stop, or give --all");
  const auto within = seconds_of(arguments.within, "--within");
  if (!within) return shell.report(within.error());
  const auto pause = seconds_of(arguments.pause, "--pause");
  if (!pause) return shell.report(pause.error());
  const auto owner = find_pilot_owner(shell.gateway, arguments.state);
  if (!owner) return shell.report(owner.error());
  const auto stopped = pilot::remove_pilots(
      slurm_commands(), *owner,
      {.jobs = arguments.jobs, .all = arguments.all, .within = *within, .pause = *pause});
  if (!stopped) return shell.report(stopped.error());
  if (shell.json)
    print_document(shell, {{"stopped", *stopped}});
  else if (stopped->empty())
    shell.note(none_of(*owner));
  else
    shell.print_line(fmt::format("stopped {}", fmt::join(*stopped, ", ")));
  return ExitStatus::ok;
}

/// N or MODEL:N.
void read_gpus(const std::string& text, PilotRequest& request) {
  const std::size_t colon = text.rfind(':');
  const std::string number = colon == std::string::npos ? text : text.substr(colon + 1);
  request.gpu_model = colon == std::string::npos ? "" : text.substr(0, colon);
  request.gpus = parse_number<std::uint32_t>(number).value_or(0);
  if (request.gpus == 0)
    throw CLI::ValidationError("--gpus", "write a number of GPUs, or MODEL:NUMBER");
}

void add_start(CLI::App& pilots, Shell& shell) {
  auto* command =
      add_command(pilots, shell, "start", "Submit batch jobs that hand their cores to this Orchid",
                  "  orchid pilot start --partition idle --cores 4 --time 30m\n"
                  "  orchid pilot start --partition idle --count 4 --max 8\n"
                  "  orchid pilot start --partition idle --option --constraint=avx512 --dry-run");
  auto arguments = std::make_shared<StartArguments>();
  PilotRequest& request = arguments->terms.request;
  add_pilot_terms(*command, arguments->terms);
  command->add_option("--time", arguments->time, "how long each pilot runs (default: 10m)");
  command->add_option("--cores", request.cores, "cores on each node (default: 1)");
  command->add_option_function<std::string>(
      "--gpus", [&request](const std::string& text) { read_gpus(text, request); },
      "GPUs on each node, such as 1 or a100:2 (default: none)");
  command->add_option("--memory", arguments->memory,
                      "memory on each node, such as 4GiB (default: what one worker on each core "
                      "needs, and --data-memory)");
  command->add_option("--nodes", request.nodes, "nodes of each pilot; an executor runs on each");
  command->add_option("--node-list", request.node_list, "nodes to use, such as n[1-2]");
  command->add_option("--count", arguments->count, "how many pilots to submit (default: 1)")
      ->check(CLI::Range(1, 1000));
  command->add_option("--max", arguments->most,
                      "how many pilots may wait or run at a time (default: 8)");
  command->add_option(
      "--wait-at-most", arguments->wait_at_most,
      "how long a pilot may wait in the queue before Slurm removes it (default: 1h; 0: no limit)");
  command->add_flag("--dry-run", arguments->dry_run, "print the batch script and submit nothing");
  command->callback([&shell, arguments] { shell.status = run_start(shell, *arguments); });
}

void add_stop(CLI::App& pilots, Shell& shell) {
  auto* command = add_command(pilots, shell, "stop",
                              "End pilots of this Orchid; their calls run again elsewhere",
                              "  orchid pilot stop 4711 4712\n  orchid pilot stop --all");
  auto arguments = std::make_shared<StopArguments>();
  command->add_option("jobs", arguments->jobs, "job numbers of pilots");
  command->add_flag("--all", arguments->all, "all pilots of this gateway");
  command->add_option("--within", arguments->within,
                      "how long to wait until they are gone (default: 30s)");
  add_gateway_state(*command, arguments->state);
  command->add_option("--pause", arguments->pause,
                      "with --all: how long no pilot is submitted on demand, unless the gateway "
                      "restarts before (default: 10m)");
  command->callback([&shell, arguments] { shell.status = run_stop(shell, *arguments); });
}

}  // namespace

void add_pilot(CLI::App& app, Shell& shell) {
  auto* pilots = app.add_subcommand("pilot", "Idle cores of a Slurm cluster, as batch jobs");
  pilots->footer(
      "examples:\n  orchid pilot start --partition idle --cores 4 --time 30m\n"
      "  orchid pilot list\n  orchid pilot stop --all");
  pilots->require_subcommand(1);
  add_start(*pilots, shell);
  auto* list = add_command(*pilots, shell, "list", "Show the pilots that wait and run",
                           "  orchid pilot list\n  orchid pilot list --json");
  auto state = std::make_shared<std::string>();
  add_gateway_state(*list, *state);
  list->callback([&shell, state] { shell.status = run_list(shell, *state); });
  add_stop(*pilots, shell);
  add_pilot_keep(*pilots, shell);
  add_pilot_guard(*pilots, shell);
}

}  // namespace orchid::cli
