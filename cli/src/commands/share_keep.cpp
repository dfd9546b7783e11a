// commands/share_keep.cpp: orchid share keep: what the step of a share runs on each of its nodes.
#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <memory>

#include "commands/commands.h"
#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "foundation/units.h"
#include "pilots/pilot_terms.h"
#include "shares/share_keeper.h"
#include "shares/step_surroundings.h"
#include "terminal/programs.h"

namespace orchid::cli {
namespace {

struct KeepArguments {
  std::string address;
  std::string token_file;
  std::string lane_listen = "auto";
  std::string host_identity = "boot";
  std::string gateway_grace = "120s";
  std::string ends_in;
  std::string memory;
  std::uint32_t cores = 0;
};

Result<std::string> host_id_of(const OwnStep& own) {
  auto id = read_file("/proc/sys/kernel/random/boot_id", 4_KiB);
  if (!id) return fail(std::move(id.error()));
  std::string text(as_text(*id));
  text.erase(text.find_last_not_of('\n') + 1);
  return text + "/" + own.node;
}

/// Of orchid-executor.
Result<std::vector<std::string>> executor_arguments(const KeepArguments& arguments,
                                                    const OwnStep& own, const CoreList& cores,
                                                    const std::filesystem::path& folder,
                                                    Shell& shell) {
  const auto grace = seconds_of(arguments.gateway_grace, "--gateway-grace");
  if (!grace) return fail(grace.error());
  std::vector<std::string> words{"--grant",
                                 "share",
                                 "--gateway",
                                 arguments.address,
                                 "--token-file",
                                 arguments.token_file,
                                 "--runtime",
                                 folder / "run",
                                 "--state",
                                 folder / "state",
                                 "--job",
                                 std::to_string(own.job),
                                 "--cluster",
                                 own.cluster,
                                 "--node",
                                 own.node,
                                 "--core-list",
                                 to_core_text(cores),
                                 "--gateway-grace-s",
                                 std::to_string(grace->count())};
  const auto add = [&words](const char* name, std::string value) {
    words.emplace_back(name);
    words.push_back(std::move(value));
  };
  if (!arguments.memory.empty()) add("--memory", arguments.memory);
  if (!arguments.ends_in.empty()) {
    const auto left = seconds_of(arguments.ends_in, "--ends-in");
    if (!left) return fail(left.error());
    if (left->count() <= 0) return fail(ErrorCode::lease_ended, "the job's time is over");
    add("--ends-in-s", std::to_string(left->count()));
  }
  if (arguments.host_identity == "node") {
    auto id = host_id_of(own);
    if (!id) return fail(std::move(id.error()));
    add("--host-id", std::move(*id));
  }
  const std::string lanes =
      arguments.lane_listen == "auto" ? address_towards(arguments.address) : arguments.lane_listen;
  if (!lanes.empty())
    add("--lane-listen", lanes);
  else if (arguments.lane_listen == "auto")
    shell.note("no address of this node leads to " + arguments.address +
               "; only clients of its own reach its workers");
  return words;
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
  auto folder = NodeFolder::make(own->job);
  if (!folder) return shell.report(folder.error());
  const auto programs = own_program_directory();
  if (!programs) return shell.report(programs.error());
  auto words = executor_arguments(arguments, *own, *cores, folder->path(), shell);
  if (!words) return shell.report(words.error());
  auto keeper = ShareKeeper::start({.executor = *programs / "orchid-executor",
                                    .arguments = std::move(*words),
                                    .processes = {.job = own->job,
                                                  .node = own->node,
                                                  .own_step = own->step,
                                                  .job_cores = *cores},
                                    .most_cores = arguments.cores});
  if (!keeper) return shell.report(keeper.error());
  int status = keeper->run();
  if (keeper->was_told_to_end()) {
    // First of all: a step that is slow to end may be killed.
    folder->remove();
    status = keeper->wait_for_end();
  }
  if (status == 0) return ExitStatus::ok;
  return shell.report(Failure{
      ErrorCode::system,
      "orchid-executor ended with " + describe_wait_status(status) + "; its last lines say why"});
}

}  // namespace

void add_share_keep(CLI::App& shares, Shell& shell) {
  auto* command =
      add_command(shares, shell, "keep", "What the step of a share runs on each node of its job",
                  "  ('orchid share start' inside a job makes Slurm run this)");
  auto arguments = std::make_shared<KeepArguments>();
  command->add_option("--address", arguments->address, "HOST:PORT of the gateway")->required();
  command->add_option("--token-file", arguments->token_file, "file with the token")->required();
  command->add_option("--lane-listen", arguments->lane_listen,
                      "IP:PORT where clients of other hosts reach workers (otherwise 'auto': by "
                      "which this node reaches the gateway)");
  command->add_option("--host-identity", arguments->host_identity, "boot or node")
      ->check(CLI::IsMember({"boot", "node"}));
  command->add_option("--gateway-grace", arguments->gateway_grace,
                      "end when no gateway has answered for so long (otherwise 120s)");
  command->add_option("--ends-in", arguments->ends_in, "the job's time that is left");
  command->add_option("--memory", arguments->memory, "for functions, at most");
  command->add_option("--cores", arguments->cores, "shared at most; 0: all that nobody uses");
  command->callback([&shell, arguments] { shell.status = run_keep(shell, *arguments); });
}

}  // namespace orchid::cli
