// commands/share.cpp: orchid share: what a Slurm job does not use of its cores, for its owner's
// functions.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "commands/commands.h"
#include "pilots/pilot_place.h"
#include "pilots/pilot_terms.h"
#include "share/batch_job.h"
#include "share/job_processes.h"
#include "share/slurm_steps.h"
#include "share/step_command.h"
#include "shares/detached_step.h"
#include "shares/share_report.h"
#include "supervisor/directories.h"
#include "supervisor/file_lock.h"
#include "terminal/documents.h"
#include "terminal/duration.h"
#include "terminal/programs.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

using share::BatchJob;
using share::ShareRequest;
using share::SlurmSteps;

constexpr std::chrono::milliseconds look_again{100};

struct StartArguments {
  std::string what;
  bool site = false;
  std::string host_socket;
  std::string users = "owner";
  std::string address;
  std::string lane_listen = "auto";
  std::string host_identity = "boot";
  std::string gateway_grace = default_gateway_grace();
  std::string within = "60s";
};

struct StopArguments {
  std::uint64_t job = 0;
  std::string within = "30s";
};

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) variables.emplace_back(*each);
  return variables;
}

Result<PilotPlace> running_gateway(const std::string& gateway) {
  auto place = find_pilot_place(gateway);
  if (!place) return place;
  if (!place->gateway)
    return fail(ErrorCode::unreachable,
                "no running Orchid found; start one with 'orchid up --listen IP:PORT' where this "
                "job's nodes reach it, or in the job itself");
  return place;
}

/// A site's gateway is somebody else's: what this user keeps of it is in a folder of his own.
Result<PilotPlace> place_of_share(const Shell& shell, bool site) {
  if (!site) return running_gateway(shell.gateway);
  auto state = state_directory(real_user_surroundings());
  if (!state) return fail(std::move(state.error()));
  PilotPlace place;
  place.state = std::move(*state);
  return place;
}

Result<std::filesystem::path> log_of_share(const PilotPlace& place, std::uint64_t job) {
  const std::filesystem::path folder = place.state / "shares";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::system, "making " + folder.string() + ": " + error.message());
  return folder / fmt::format("{}.log", job);
}

/// What is to be shared of which job, checked before anything is asked of anybody.
Result<ShareRequest> read_request(const StartArguments& arguments) {
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
  return ShareRequest{.job = std::move(*job),
                      .option = parsed.option,
                      .site = arguments.site,
                      .host_socket = arguments.host_socket,
                      .for_everybody = arguments.users == "everybody",
                      .gateway = {},
                      .token_file = {},
                      .programs = {},
                      .srun = {},
                      .lane_listen = arguments.lane_listen,
                      .host_is_node = arguments.host_identity == "node",
                      .gateway_grace = *grace,
                      .ends_in = std::nullopt};
}

/// A gateway that only its own host reaches will do for a job that has only this host.
Result<std::string> address_for(const BatchJob& job, const std::string& wanted,
                                const PilotPlace& place) {
  auto address = place.address_for_nodes(wanted);
  const bool is_here = job.nodes() == 1 && variable("SLURMD_NODENAME").has_value() &&
                       !place.gateway->socket.empty() && !place.gateway->addresses.empty();
  if (address || !is_here) return address;
  return std::string(host_and_port(place.gateway->addresses.front()));
}

std::chrono::seconds seconds_since_epoch() {
  return std::chrono::floor<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

Result<void> complete(ShareRequest& request, const StartArguments& arguments,
                      const PilotPlace& place, const SlurmSteps& slurm) {
  if (!request.site) {
    auto gateway = address_for(request.job, arguments.address, place);
    if (!gateway) return fail(std::move(gateway.error()));
    request.gateway = std::move(*gateway);
    request.token_file = place.gateway->token_file;
  }
  auto programs = own_program_directory();
  if (!programs) return fail(std::move(programs.error()));
  const auto shares = slurm.shares(request.job.id);
  if (!shares) return fail(shares.error());
  if (!shares->empty())
    return fail(ErrorCode::conflict,
                fmt::format("job {} is already shared, by its step {}; 'orchid share stop' ends it",
                            request.job.id, shares->front()));
  const auto times = slurm.times(request.job.id);
  if (!times) return fail(times.error());
  const auto left =
      share::time_left(*times, seconds_since_epoch(), share::age_of_job(request.job.id));
  if (left && *left <= 2 * share::end_margin)
    return fail(ErrorCode::lease_ended,
                fmt::format("job {} ends in {} s", request.job.id, left->count()));
  request.programs = std::move(*programs);
  request.srun = folder_of_program("srun") / "srun";
  request.ends_in = left;
  return {};
}

std::vector<NodeShare> shares_of(Client& client, std::optional<std::uint64_t> job) {
  const std::string path = job ? fmt::format("/v1/hosts?job={}", *job) : "/v1/hosts";
  return shares_in(nlohmann::json::parse(client.get(path)), job);
}

/// Until the executor of each node has joined. Errors: `system`, `timed_out`.
Result<std::vector<NodeShare>> wait_until_joined(Client& client, const BatchJob& job,
                                                 DetachedStep& step, std::chrono::seconds within) {
  const auto give_up = std::chrono::steady_clock::now() + within;
  while (true) {
    auto shares = shares_of(client, job.id);
    std::erase_if(shares, [](const NodeShare& one) { return one.state != "connected"; });
    if (shares.size() >= job.nodes()) return shares;
    if (step.ended())
      return fail(ErrorCode::system, "the share's step ended at once; it said: " + step.said());
    if (std::chrono::steady_clock::now() >= give_up)
      return fail(ErrorCode::timed_out,
                  fmt::format("{} of {} nodes have joined within {} s; the share's step said: {}",
                              shares.size(), job.nodes(), within.count(), step.said()));
    std::this_thread::sleep_for(look_again);
  }
}

/// A worker that gets no memory is no help; it would be a riddle why nothing is placed there.
void warn_of_little_memory(Shell& shell, Client& client, const ShareRequest& request) {
  const auto memory = share::memory_of(request.option, request.job, request.job.most_cpus());
  const auto limits = Document::parse(client.get("/v1/limits"));
  const ByteCount worker{limits.value("worker_memory_bytes", std::uint64_t{0})};
  if (memory && *memory < worker)
    shell.note(fmt::format(
        "no function fits into this share: a worker needs {}, and the share has {} of the job's "
        "memory; give more with mem:SIZE, or start the gateway with a smaller worker_memory",
        to_string(worker), to_string(*memory)));
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

ExitStatus run_start(Shell& shell, const StartArguments& arguments) {
  const auto within = seconds_of(arguments.within, "--within");
  if (!within) return shell.report(within.error());
  auto request = read_request(arguments);
  if (!request) return shell.report(request.error());
  const auto place = place_of_share(shell, arguments.site);
  if (!place) return shell.report(place.error());
  const SlurmSteps slurm({.folder = folder_of_program("srun")});
  const auto log = log_of_share(*place, request->job.id);
  if (!log) return shell.report(log.error());
  // The site's plugin and the job's own script may both want it.
  const auto alone = lock_file(
      *log, *within,
      fmt::format("another 'orchid share start' of job {} has not ended", request->job.id));
  if (!alone) return shell.report(alone.error());
  if (auto done = complete(*request, arguments, *place, slurm); !done)
    return shell.report(done.error());
  Client client = shell.client();
  warn_of_little_memory(shell, client, *request);
  auto step = DetachedStep::start(share::step_command(*request),
                                  share::step_environment(own_environment()), *log);
  if (!step) return shell.report(step.error());
  const auto shares = wait_until_joined(client, request->job, *step, *within);
  if (!shares) {
    if (const auto left = slurm.shares(request->job.id); left) (void)slurm.end(*left);
    return shell.report(shares.error());
  }
  print_shares(shell, *shares);
  return ExitStatus::ok;
}

ExitStatus run_status(Shell& shell, std::uint64_t job) {
  std::optional<std::uint64_t> wanted;
  if (job != 0)
    wanted = job;
  else if (const auto own = share::read_batch_job(variable); own)
    wanted = own->id;
  Client client = shell.client();
  const auto shares = shares_of(client, wanted);
  if (shares.empty() && !shell.json)
    shell.note(wanted ? fmt::format("job {} is not shared; 'orchid share start' inside it shares "
                                    "the cores that it does not use",
                                    *wanted)
                      : "no job is shared with this Orchid");
  else
    print_shares(shell, shares);
  return ExitStatus::ok;
}

/// Errors: `timed_out`, those of `SlurmSteps`.
Result<void> end_steps(const SlurmSteps& slurm, std::uint64_t job,
                       const std::vector<std::string>& steps, std::chrono::seconds within) {
  const auto give_up = std::chrono::steady_clock::now() + within;
  if (auto told = slurm.end(steps); !told) return told;
  while (true) {
    const auto left = slurm.shares(job);
    if (!left) return fail(left.error());
    if (left->empty()) return {};
    if (std::chrono::steady_clock::now() >= give_up)
      return fail(ErrorCode::timed_out,
                  fmt::format("step {} has been told to end, and is still there; 'scancel {}' ends "
                              "it by force",
                              left->front(), left->front()));
    std::this_thread::sleep_for(look_again);
  }
}

ExitStatus run_stop(Shell& shell, const StopArguments& arguments) {
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
  const auto steps = slurm.shares(job);
  if (!steps) return shell.report(steps.error());
  if (const auto ended = end_steps(slurm, job, *steps, *within); !ended)
    return shell.report(ended.error());
  if (shell.json)
    print_document(shell, {{"stopped", *steps}});
  else if (steps->empty())
    shell.note(fmt::format("job {} is not shared", job));
  else
    shell.print_line(fmt::format("job {} is no longer shared", job));
  return ExitStatus::ok;
}

void add_start(CLI::App& shares, Shell& shell) {
  auto* command = add_command(
      shares, shell, "start", "Let your functions use the cores that this Slurm job does not use",
      "  orchid share start                      # all cores that no step of the job uses\n"
      "  orchid share start cores:4,mem:8G       # at most, on each node of the job");
  auto arguments = std::make_shared<StartArguments>();
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
  add_gateway_grace(*command, "--gateway-grace", arguments->gateway_grace,
                    "how long the share stays without an answer from the gateway");
  command->add_option("--within", arguments->within,
                      "how long to wait until all nodes have joined (default: 60s)");
  command->callback([&shell, arguments] { shell.status = run_start(shell, *arguments); });
}

void add_status_of_shares(CLI::App& shares, Shell& shell) {
  auto* command =
      add_command(shares, shell, "status", "Show which cores a job shares now",
                  "  orchid share status        # of this job; outside of jobs: of all\n"
                  "  orchid share status 4711 --json");
  auto job = std::make_shared<std::uint64_t>(0);
  command->add_option("job", *job, "job number (default: this job)");
  command->callback([&shell, job] { shell.status = run_status(shell, *job); });
}

void add_stop(CLI::App& shares, Shell& shell) {
  auto* command =
      add_command(shares, shell, "stop", "End a job's share; its calls run again elsewhere",
                  "  orchid share stop\n  orchid share stop 4711");
  auto arguments = std::make_shared<StopArguments>();
  command->add_option("job", arguments->job, "job number (default: this job)");
  command->add_option("--within", arguments->within,
                      "how long to wait until it is gone (default: 30s)");
  command->callback([&shell, arguments] { shell.status = run_stop(shell, *arguments); });
}

}  // namespace

void add_share(CLI::App& app, Shell& shell) {
  auto* shares =
      app.add_subcommand("share", "Idle cores inside a Slurm job of yours, for your functions");
  shares->footer(
      "examples, in a job script:\n  orchid share start cores:auto,mem:8G\n"
      "  orchid share status\n  orchid share stop");
  shares->require_subcommand(1);
  add_start(*shares, shell);
  add_status_of_shares(*shares, shell);
  add_stop(*shares, shell);
  add_share_keep(*shares, shell);
}

}  // namespace orchid::cli
