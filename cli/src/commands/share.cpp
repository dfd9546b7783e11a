// commands/share.cpp: orchid share: what a Slurm job does not use of its cores, for its owner's
// functions.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>

#include "commands/commands.h"
#include "commands/pilot_terms.h"
#include "foundation/amounts.h"
#include "share/batch_job.h"
#include "share/share_report.h"
#include "share/share_start.h"
#include "share/slurm_steps.h"
#include "supervisor/directories.h"
#include "supervisor/pilot_owner.h"
#include "terminal/documents.h"
#include "terminal/duration.h"
#include "terminal/programs.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

using pilot::PilotOwner;
using share::NodeShare;
using share::ShareRequest;
using share::SlurmSteps;

struct ShareStartArguments {
  std::string what;
  bool site = false;
  std::string host_socket;
  std::string users = "owner";
  std::string address;
  std::string lane_listen = "auto";
  std::string host_identity = "boot";
  std::string data_memory;
  std::string gateway_grace = default_gateway_grace();
  std::string within = "60s";
};

struct ShareStopArguments {
  std::uint64_t job = 0;
  std::string within = "30s";
};

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<PilotOwner> running_gateway(const std::string& gateway) {
  auto owner = find_pilot_owner(gateway);
  if (!owner) return owner;
  if (!owner->gateway)
    return fail(ErrorCode::unreachable,
                "no running Orchid found; start one with 'orchid up --listen IP:PORT' where this "
                "job's nodes reach it, or in the job itself");
  return owner;
}

/// A site's gateway is somebody else's: what this user keeps of it is in a folder of his own.
Result<PilotOwner> owner_of_share(const Shell& shell, bool site) {
  if (!site) return running_gateway(shell.gateway);
  auto state = state_directory(real_user_surroundings());
  if (!state) return fail(std::move(state.error()));
  PilotOwner owner;
  owner.state = std::move(*state);
  return owner;
}

/// Nothing: it was not said.
Result<std::optional<ByteCount>> data_memory_of(const ShareStartArguments& arguments) {
  if (arguments.data_memory.empty()) return std::nullopt;
  if (arguments.site)
    return fail(ErrorCode::bad_request,
                "how much data is kept on a node is for the site's service to say "
                "(--executor-option=--data-memory=SIZE): leave --data-memory out");
  auto data = parse_byte_count(arguments.data_memory);
  if (!data) return fail(std::move(data.error()).while_doing("--data-memory"));
  return std::optional(*data);
}

/// What is to be shared of which job, checked before anything is asked of anybody.
Result<ShareRequest> read_request(const ShareStartArguments& arguments) {
  if (!arguments.site && arguments.users != "owner")
    return fail(ErrorCode::bad_request,
                "--for everybody needs --site: a share of your own runs under your uid, and is for "
                "your functions alone");
  const auto parsed = share::parse_share_option(arguments.what);
  if (parsed.fault != nullptr)
    return fail(ErrorCode::bad_request, fmt::format("'{}': {}", arguments.what, parsed.fault));
  auto job = share::read_batch_job(variable);
  if (!job) return fail(std::move(job.error()));
  if (auto possible = share::check(parsed.option, *job); !possible)
    return fail(std::move(possible.error()));
  const auto grace = seconds_of(arguments.gateway_grace, "--gateway-grace");
  if (!grace) return fail(grace.error());
  const auto data = data_memory_of(arguments);
  if (!data) return fail(data.error());
  auto programs = own_program_directory();
  if (!programs) return fail(std::move(programs.error()));
  return ShareRequest{.job = std::move(*job),
                      .option = parsed.option,
                      .site = arguments.site,
                      .host_socket = arguments.host_socket,
                      .for_everybody = arguments.users == "everybody",
                      .gateway = {},
                      .token_file = {},
                      .programs = std::move(*programs),
                      .srun = folder_of_program("srun") / "srun",
                      .lane_listen = arguments.lane_listen,
                      .host_is_node = arguments.host_identity == "node",
                      .data_memory = *data,
                      .gateway_grace = *grace,
                      .ends_in = std::nullopt};
}

Document document_of(const NodeShare& share) {
  Document document{{"job", share.job},
                    {"node", share.node},
                    {"state", share.state},
                    {"cores", share.cores},
                    {"cores_leased", share.cores_leased}};
  if (share.ends_in_ms) document["ends_in_ms"] = *share.ends_in_ms;
  return document;
}

void print_shares(Shell& shell, const std::vector<NodeShare>& shares) {
  Document list = Document::array();
  Table table({"job", "node", "state", "cores offered", "used", "time left"});
  for (const NodeShare& one : shares) {
    list.push_back(document_of(one));
    table.add({std::to_string(one.job), one.node, one.state,
               one.cores.empty() ? "none now" : to_core_text(one.cores),
               std::to_string(one.cores_leased),
               one.ends_in_ms ? format_duration(std::chrono::milliseconds(*one.ends_in_ms)) : "-"});
  }
  if (shell.json)
    print_document(shell, {{"shares", std::move(list)}});
  else
    shell.print(table.text());
}

ExitStatus run_share_start(Shell& shell, const ShareStartArguments& arguments) {
  const auto within = seconds_of(arguments.within, "--within");
  if (!within) return shell.report(within.error());
  auto request = read_request(arguments);
  if (!request) return shell.report(request.error());
  const auto owner = owner_of_share(shell, arguments.site);
  if (!owner) return shell.report(owner.error());
  const SlurmSteps slurm({.folder = folder_of_program("srun")});
  Client client = shell.client();
  const auto shares =
      share::start_share({.request = std::move(*request),
                          .gateway = owner->gateway,
                          .address = arguments.address,
                          .state = owner->state,
                          .within = *within},
                         {.slurm = slurm,
                          .get = [&client](const std::string& path) { return client.get(path); },
                          .say = [&shell](const std::string& line) { shell.note(line); }});
  if (!shares) return shell.report(shares.error());
  print_shares(shell, *shares);
  return ExitStatus::ok;
}

ExitStatus run_share_status(Shell& shell, std::uint64_t job) {
  std::optional<std::uint64_t> wanted;
  if (job != 0)
    wanted = job;
  else if (const auto own = share::read_batch_job(variable); own)
    wanted = own->id;
  Client client = shell.client();
  const auto shares =
      share::shares_of([&client](const std::string& path) { return client.get(path); }, wanted);
  if (!shares) return shell.report(shares.error());
  if (shares->empty() && !shell.json)
    shell.note(wanted ? fmt::format("job {} is not shared; 'orchid share start' inside it shares "
                                    "the cores that it does not use",
                                    *wanted)
                      : "no job is shared with this Orchid");
  else
    print_shares(shell, *shares);
  return ExitStatus::ok;
}

ExitStatus run_share_stop(Shell& shell, const ShareStopArguments& arguments) {
  const auto within = seconds_of(arguments.within, "--within");
  if (!within) return shell.report(within.error());
  std::uint64_t job = arguments.job;
  if (job == 0) {
    const auto own = share::read_batch_job(variable);
    if (!own)
      return shell.report(Failure{ErrorCode::bad_request,
                                  "this is not a Slurm job (SLURM_JOB_ID is not set): name the job "
                                  "whose share is to end; 'orchid share status' lists them"});
    job = own->id;
  }
  const SlurmSteps slurm({.folder = folder_of_program("srun")});
  const auto steps = share::end_share(slurm, job, *within);
  if (!steps) return shell.report(steps.error());
  if (shell.json)
    print_document(shell, {{"stopped", *steps}});
  else if (steps->empty())
    shell.note(fmt::format("job {} is not shared", job));
  else
    shell.print_line(fmt::format("job {} is no longer shared", job));
  return ExitStatus::ok;
}

void add_share_start(CLI::App& shares, Shell& shell) {
  auto* command = add_command(
      shares, shell, "start", "Let your functions use the cores that this Slurm job does not use",
      "  orchid share start                      # all cores that no step of the job uses\n"
      "  orchid share start cores:4,mem:8G       # at most, on each node of the job");
  auto arguments = std::make_shared<ShareStartArguments>();
  command->add_option(
      "what", arguments->what,
      "cores:N or cores:auto, mem:SIZE and bandwidth:SIZE, as '#SBATCH --orchid-share' takes them");
  command->add_flag("--site", arguments->site,
                    "grant the cores to the site's service on each node (orchid-host) instead of "
                    "running an executor of your own");
  command->add_option("--host-socket", arguments->host_socket,
                      "with --site: the socket of that service, if it is not the default one");
  command
      ->add_option("--for", arguments->users,
                   "with --site: whose functions may run there: owner (default), or everybody if "
                   "the site allows it")
      ->check(CLI::IsMember({"owner", "everybody"}));
  command->add_option(
      "--address", arguments->address,
      "HOST:PORT by which nodes reach the gateway (default: an address that it listens on)");
  command->add_option("--lane-listen", arguments->lane_listen,
                      "IP:PORT at which clients on other hosts reach a node's workers (default: "
                      "auto, the address by which the node reaches the gateway)");
  command
      ->add_option("--host-identity", arguments->host_identity,
                   "what tells nodes apart: boot (default), the machine's boot id; node, the "
                   "node's name, for several nodes on one machine")
      ->check(CLI::IsMember({"boot", "node"}));
  command->add_option(
      "--data-memory", arguments->data_memory,
      "of the memory on each node, for data objects and leases of memory, such as 4GiB; 0: none "
      "(default: what is left when each core has 1GiB, at most 1GiB)");
  add_gateway_grace(*command, "--gateway-grace", arguments->gateway_grace,
                    "how long the share stays without an answer from the gateway");
  command->add_option("--within", arguments->within,
                      "how long to wait until all nodes have joined (default: 60s)");
  command->callback([&shell, arguments] { shell.status = run_share_start(shell, *arguments); });
}

void add_status_of_shares(CLI::App& shares, Shell& shell) {
  auto* command =
      add_command(shares, shell, "status", "Show which cores a job shares now",
                  "  orchid share status        # of this job; outside of jobs: of all\n"
                  "  orchid share status 4711 --json");
  auto job = std::make_shared<std::uint64_t>(0);
  command->add_option("job", *job, "job number (default: this job)");
  command->callback([&shell, job] { shell.status = run_share_status(shell, *job); });
}

void add_share_stop(CLI::App& shares, Shell& shell) {
  auto* command =
      add_command(shares, shell, "stop", "End a job's share; its calls run again elsewhere",
                  "  orchid share stop\n  orchid share stop 4711");
  auto arguments = std::make_shared<ShareStopArguments>();
  command->add_option("job", arguments->job, "job number (default: this job)");
  command->add_option("--within", arguments->within,
                      "how long to wait until it is gone (default: 30s)");
  command->callback([&shell, arguments] { shell.status = run_share_stop(shell, *arguments); });
}

}  // namespace

void add_share(CLI::App& app, Shell& shell) {
  auto* shares =
      app.add_subcommand("share", "Offer idle cores of your Slurm job to your functions");
  shares->footer(
      "examples, in a job script:\n  orchid share start cores:auto,mem:8G\n"
      "  orchid share status\n  orchid share stop");
  shares->require_subcommand(1);
  add_share_start(*shares, shell);
  add_status_of_shares(*shares, shell);
  add_share_stop(*shares, shell);
  add_share_keep(*shares, shell);
}

}  // namespace orchid::cli
