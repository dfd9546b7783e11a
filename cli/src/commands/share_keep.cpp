// commands/share_keep.cpp: orchid share keep: what the step of a share runs on each of its nodes.
#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

#include "commands/commands.h"
#include "foundation/amounts.h"
#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "foundation/units.h"
#include "pilots/pilot_terms.h"
#include "share/step_command.h"
#include "shares/share_keeper.h"
#include "shares/step_surroundings.h"
#include "terminal/programs.h"

namespace orchid::cli {
namespace {

struct KeepArguments {
  bool site = false;
  std::string host_socket;
  std::string users = "owner";
  std::string address;
  std::string token_file;
  std::string lane_listen = "auto";
  std::string host_identity = "boot";
  std::string gateway_grace = default_gateway_grace();
  std::string ends_in;
  std::string memory;
  std::string memory_per_cpu;
  std::string memory_per_node;
  std::string bandwidth_cap;
  std::uint32_t cores = 0;
};

Result<std::string> host_id_of(const OwnStep& own) {
  auto id = read_file("/proc/sys/kernel/random/boot_id", 4_KiB);
  if (!id) return fail(std::move(id.error()));
  std::string text(as_text(*id));
  text.erase(text.find_last_not_of('\n') + 1);
  return text + "/" + own.node;
}

/// Nothing: no amount is said.
Result<std::optional<ByteCount>> amount_of(const std::string& text, const char* flag) {
  if (text.empty()) return std::nullopt;
  auto amount = parse_byte_count(text);
  if (!amount) return fail(std::move(amount.error()).while_doing(flag));
  return std::optional(*amount);
}

/// For functions on this node.
Result<std::optional<ByteCount>> memory_here(const KeepArguments& arguments, const OwnStep& own,
                                             std::uint32_t cpus, const share::SlurmSteps& slurm) {
  const auto wanted = amount_of(arguments.memory, "--memory");
  if (!wanted) return wanted;
  const auto per_cpu = amount_of(arguments.memory_per_cpu, "--memory-per-cpu");
  if (!per_cpu) return per_cpu;
  const auto per_node = amount_of(arguments.memory_per_node, "--memory-per-node");
  if (!per_node) return per_node;
  const auto job = with_memory_here({.per_cpu = *per_cpu, .per_node = *per_node}, own, slurm);
  if (!job) return fail(job.error());
  return share::memory_of(
      {.cores = arguments.cores, .memory_bytes = wanted->value_or(ByteCount{}).value}, *job, cpus);
}

/// Of orchid-executor and of orchid-grant: what the share is.
Result<std::vector<std::string>> common_arguments(const KeepArguments& arguments,
                                                  const OwnStep& own, const CoreList& cores,
                                                  const share::SlurmSteps& slurm) {
  const auto grace = seconds_of(arguments.gateway_grace, "--gateway-grace");
  if (!grace) return fail(grace.error());
  std::vector<std::string> words{"--grant",
                                 "share",
                                 "--job",
                                 std::to_string(own.job),
                                 "--core-list",
                                 to_core_text(cores),
                                 "--gateway-grace-s",
                                 std::to_string(grace->count())};
  const auto memory = memory_here(arguments, own, cpus_of_job(own, cores), slurm);
  if (!memory) return fail(memory.error());
  if (*memory) {
    const auto more = memory_arguments(own, **memory);
    if (!more) return fail(more.error());
    words.insert(words.end(), more->begin(), more->end());
  }
  if (!arguments.bandwidth_cap.empty())
    words.insert(words.end(), {"--bandwidth-cap", arguments.bandwidth_cap});
  if (arguments.ends_in.empty()) return words;
  const auto left = seconds_of(arguments.ends_in, "--ends-in");
  if (!left) return fail(left.error());
  if (left->count() <= 0) return fail(ErrorCode::lease_ended, "the job's time is over");
  words.insert(words.end(), {"--ends-in-s", std::to_string(left->count())});
  return words;
}

/// Of orchid-executor alone: where it finds its gateway, and how it is found.
Result<std::vector<std::string>> own_arguments(const KeepArguments& arguments, const OwnStep& own,
                                               const std::filesystem::path& folder, Shell& shell) {
  if (arguments.address.empty() || arguments.token_file.empty())
    return fail(ErrorCode::bad_request, "--address and --token-file are needed without --site");
  std::vector<std::string> words{
      "--gateway", arguments.address, "--token-file", arguments.token_file,
      "--runtime", folder / "run",    "--state",      folder / "state",
      "--cluster", own.cluster,       "--node",       own.node};
  if (arguments.host_identity == "node") {
    auto id = host_id_of(own);
    if (!id) return fail(std::move(id.error()));
    words.insert(words.end(), {"--host-id", std::move(*id)});
  }
  const std::string lanes =
      arguments.lane_listen == "auto" ? address_towards(arguments.address) : arguments.lane_listen;
  if (!lanes.empty())
    words.insert(words.end(), {"--lane-listen", lanes});
  else if (arguments.lane_listen == "auto")
    shell.note("this node has no address by which it reaches " + arguments.address +
               "; only clients on this node can reach its workers");
  return words;
}

/// Of orchid-grant alone: where it finds the site's service, and what it asks of that.
std::vector<std::string> site_arguments(const KeepArguments& arguments) {
  std::vector<std::string> words{"--for", arguments.users};
  if (!arguments.host_socket.empty())
    words.insert(words.end(), {"--host-socket", arguments.host_socket});
  return words;
}

/// Runs the program that turns the cores into workers, or has that done; a folder of its own, where
/// there is one, goes before it has ended.
ExitStatus keep(Shell& shell, ShareKeeper::Options options, NodeFolder* folder) {
  const std::string program = options.executor;
  auto keeper = ShareKeeper::start(std::move(options));
  if (!keeper) return shell.report(keeper.error());
  auto end = keeper->run();
  if (keeper->was_told_to_end()) {
    // First of all: a step that is slow to end may be killed.
    if (folder != nullptr) folder->remove();
    end = keeper->wait_for_end();
  }
  if (end.ok()) return ExitStatus::ok;
  return shell.report(Failure{
      ErrorCode::system, program + " ended with " + describe(end) + "; its last lines say why"});
}

ExitStatus run_keep(Shell& shell, const KeepArguments& arguments) {
  const sigset_t signals = keeper_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  const auto own = read_own_step();
  if (!own) return shell.report(own.error());
  const share::SlurmSteps slurm({.folder = folder_of_program("srun")});
  const auto cores = cores_of_job(*own, slurm);
  if (!cores) return shell.report(cores.error());
  const auto programs = own_program_directory();
  if (!programs) return shell.report(programs.error());
  auto words = common_arguments(arguments, *own, *cores, slurm);
  if (!words) return shell.report(words.error());
  std::optional<NodeFolder> folder;
  if (!arguments.site) {
    auto made = NodeFolder::make(own->job);
    if (!made) return shell.report(made.error());
    folder.emplace(std::move(*made));
  }
  const auto more = folder ? own_arguments(arguments, *own, folder->path(), shell)
                           : Result<std::vector<std::string>>(site_arguments(arguments));
  if (!more) return shell.report(more.error());
  words->insert(words->end(), more->begin(), more->end());
  return keep(shell,
              {.executor = *programs / (arguments.site ? "orchid-grant" : "orchid-executor"),
               .arguments = std::move(*words),
               .processes =
                   {.job = own->job, .node = own->node, .own_step = own->step, .job_cores = *cores},
               .most_cores = arguments.cores},
              folder ? &*folder : nullptr);
}

}  // namespace

void add_share_keep(CLI::App& shares, Shell& shell) {
  auto* command = add_command(shares, shell, "keep",
                              "The program that a share's step runs on each node of the job",
                              "  ('orchid share start' inside a job makes Slurm run this)");
  auto arguments = std::make_shared<KeepArguments>();
  command->add_flag("--site", arguments->site, "grant to the site's service on this node");
  command->add_option("--host-socket", arguments->host_socket,
                      "with --site: that service's socket");
  command->add_option("--for", arguments->users, "with --site: owner or everybody")
      ->check(CLI::IsMember({"owner", "everybody"}));
  command->add_option("--address", arguments->address, "HOST:PORT of the gateway");
  command->add_option("--token-file", arguments->token_file, "file with the token");
  command->add_option("--lane-listen", arguments->lane_listen,
                      "IP:PORT at which clients on other hosts reach workers (default: auto, the "
                      "address by which this node reaches the gateway)");
  command->add_option("--host-identity", arguments->host_identity, "boot or node")
      ->check(CLI::IsMember({"boot", "node"}));
  add_gateway_grace(*command, "--gateway-grace", arguments->gateway_grace,
                    "how long to stay without an answer from the gateway");
  command->add_option("--ends-in", arguments->ends_in, "the time until the job ends");
  command->add_option(
      "--memory", arguments->memory,
      "the most memory for functions (default: what the job has for the shared cores)");
  command->add_option("--memory-per-cpu", arguments->memory_per_cpu, "that the job has");
  command->add_option("--memory-per-node", arguments->memory_per_node, "that the job has");
  command->add_option("--bandwidth-cap", arguments->bandwidth_cap,
                      "the most bytes that functions may move in a second");
  command->add_option("--cores", arguments->cores,
                      "the most cores to share; 0: all that nobody uses");
  command->callback([&shell, arguments] { shell.status = run_keep(shell, *arguments); });
}

}  // namespace orchid::cli
