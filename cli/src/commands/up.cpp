// commands/up.cpp: orchid up: a whole Orchid on this machine, until it is stopped.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "commands/commands.h"
#include "foundation/amounts.h"
#include "foundation/files.h"
#include "foundation/tcp.h"
#include "share/batch_job.h"
#include "share/step_command.h"
#include "share/step_surroundings.h"
#include "supervisor/directories.h"
#include "supervisor/folder_facts.h"
#include "supervisor/supervisor.h"
#include "supervisor/up_lock.h"
#include "terminal/documents.h"
#include "terminal/programs.h"

namespace orchid::cli {
namespace {

namespace fs = std::filesystem;

struct UpArguments {
  std::string state;
  std::string runtime;
  unsigned port = 0;
  std::vector<std::string> listen;
  std::string lane_listen;
  std::string lane_fabric;
  std::string door;
  std::string config;
  std::string data_memory;
  std::string data_spill;
  std::string data_durable;
};

std::vector<std::string> listen_addresses(const UpArguments& arguments) {
  if (!arguments.listen.empty()) return arguments.listen;
  const std::string port = ":" + std::to_string(arguments.port);
  std::vector<std::string> addresses{"127.0.0.1" + port};
  if (has_ipv6_loopback()) addresses.push_back("[::1]" + port);
  return addresses;
}

using FolderFault = std::optional<std::string> (*)(const LookAtDirectory&, const fs::path&, uid_t);

Result<fs::path> prepared_directory(const fs::path& wanted, const char* flag, FolderFault fault) {
  std::error_code error;
  fs::path directory = fs::absolute(wanted, error).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();  // "state/"
  if (const auto why = error ? std::nullopt : fault(facts_of_directory, directory, ::geteuid()))
    return fail(ErrorCode::denied, *why + "; choose another place with " + flag + " DIR");
  if (!error) fs::create_directories(directory.parent_path(), error);
  if (error)
    return fail(system_failure(ErrorCode::system, "making " + wanted.string(), error.value())
                    .while_doing(std::string("choose another place with ") + flag));
  if (auto made = make_private_directory(directory); !made)
    return fail(
        std::move(made.error()).while_doing(std::string("choose another place with ") + flag));
  return directory;
}

Failure runs_already(const fs::path& runtime) {
  const auto file = read_gateway_file(runtime);
  const std::string who = file ? " (pid " + std::to_string(file->pid) + ")" : "";
  return {ErrorCode::conflict,
          "an Orchid of yours already runs in " + runtime.string() + who +
              "; use it, stop it, or start another one with --runtime DIR --state DIR"};
}

Document document_of(const GatewayFile& file) {
  return {{"addresses", file.addresses},   {"door", file.door},   {"socket", file.socket},
          {"token_file", file.token_file}, {"state", file.state}, {"pid", file.pid}};
}

/// What a shell must set to find this Orchid, when it is not where everybody looks.
std::string finding_advice(const fs::path& runtime, const GatewayFile& file) {
  if (runtime == runtime_directory(real_user_surroundings())) return {};
  return "in other shells:  export ORCHID_GATEWAY=unix:" + file.socket + "\n";
}

/// Inside a batch job the executor is a part of it, and has what the job has on this node.
Result<std::vector<std::string>> terms_of_own_job(Shell& shell,
                                                  const UserSurroundings& surroundings) {
  std::vector<std::string> words;
  const auto own = share::find_own_job();
  if (!own) return words;
  const share::SlurmSteps slurm({.folder = folder_of_program("srun")});
  const auto cores = cores_of_job(*own, slurm);
  if (!cores)
    return fail(Failure(cores.error())
                    .while_doing("looking for the cores of job " + std::to_string(own->job)));
  words = {"--job",       std::to_string(own->job), "--node", own->node,
           "--core-list", to_core_text(*cores)};
  if (!own->cluster.empty()) words.insert(words.end(), {"--cluster", own->cluster});
  const auto job = share::read_batch_job(
      [&surroundings](const std::string& name) { return surroundings.variable(name); });
  if (!job) return words;
  const auto here = with_memory_here(*job, *own, slurm);
  if (!here) {
    // Only slurmctld knows. Without its word the executor reckons with the machine's memory, as far
    // as the job's control group lets it.
    shell.note("the memory of job " + std::to_string(own->job) +
               " is not known: " + here.error().message);
    return words;
  }
  const auto memory = share::memory_of({}, *here, share::cpus_of_job(*own, *cores));
  if (!memory) return words;
  const auto more = share::memory_arguments(*own, *memory);
  if (!more) return fail(more.error());
  words.insert(words.end(), more->begin(), more->end());
  return words;
}

/// What the executor is told beside what the supervisor says.
Result<std::vector<std::string>> words_for_executor(Shell& shell,
                                                    const UserSurroundings& surroundings,
                                                    const UpArguments& arguments) {
  auto words = terms_of_own_job(shell, surroundings);
  if (!words) return words;
  if (!arguments.data_spill.empty())
    words->insert(words->end(), {"--data-spill", arguments.data_spill});
  if (!arguments.data_durable.empty())
    words->insert(words->end(), {"--data-durable", arguments.data_durable});
  if (arguments.data_memory.empty()) return words;
  if (auto size = parse_byte_count(arguments.data_memory); !size)
    return fail(Failure{ErrorCode::bad_request, std::move(size.error().message)}.while_doing(
        "--data-memory"));
  words->insert(words->end(), {"--data-memory", arguments.data_memory});
  return words;
}

ExitStatus run_up(Shell& shell, const UpArguments& arguments) {
  const UserSurroundings surroundings = real_user_surroundings();
  const auto default_state =
      arguments.state.empty() ? state_directory(surroundings) : Result<fs::path>(arguments.state);
  if (!default_state) return shell.report(default_state.error());
  const auto state = prepared_directory(*default_state, "--state", state_folder_fault);
  if (!state) return shell.report(state.error());
  const auto runtime = prepared_directory(
      arguments.runtime.empty() ? runtime_directory(surroundings) : fs::path(arguments.runtime),
      "--runtime", runtime_folder_fault);
  if (!runtime) return shell.report(runtime.error());
  const auto lock = try_lock_runtime(*runtime);
  if (!lock) return shell.report(lock.error());
  if (!*lock) return shell.report(runs_already(*runtime));
  const auto programs = own_program_directory();
  if (!programs) return shell.report(programs.error());
  const auto terms = words_for_executor(shell, surroundings, arguments);
  if (!terms) return shell.report(terms.error());

  const SupervisorEvents events{
      .ready =
          [&shell, runtime = *runtime](const GatewayFile& file) {
            if (shell.json) return print_document(shell, document_of(file));
            std::string text =
                "Orchid is up:  " + file.addresses.front() + "\n" + finding_advice(runtime, file);
            if (!file.door.empty()) text += "over UCX:  " + file.door + "\n";
            shell.print(text + "stop it with Ctrl-C\n");
          },
      .trouble = [&shell](const std::string& line) { shell.note("orchid up: " + line); }};
  auto supervisor = Supervisor::create({.programs = *programs,
                                        .runtime = *runtime,
                                        .state = *state,
                                        .listen = listen_addresses(arguments),
                                        .lane_listen = arguments.lane_listen,
                                        .lane_fabric = arguments.lane_fabric,
                                        .door = arguments.door,
                                        .gateway_config = arguments.config,
                                        .executor_arguments = *terms},
                                       events);
  if (!supervisor) return shell.report(supervisor.error());
  if (const auto ended = supervisor->run(); !ended) return shell.report(ended.error());
  return ExitStatus::ok;
}

}  // namespace

void add_up(CLI::App& app, Shell& shell) {
  auto* command = add_command(
      app, shell, "up", "Run a whole Orchid on this machine, for you alone, until Ctrl-C",
      "  orchid up\n  orchid up --port 8080\n"
      "  orchid up --state /scratch/me/orchid   (functions, results and the token)");
  auto arguments = std::make_shared<UpArguments>();
  command->add_option("--state", arguments->state,
                      "directory for functions, results and the token (default: "
                      "$XDG_STATE_HOME/orchid or ~/.local/state/orchid)");
  command->add_option("--runtime", arguments->runtime,
                      "directory for sockets and gateway.json (default: $XDG_RUNTIME_DIR/orchid "
                      "or /tmp/orchid-UID)");
  command
      ->add_option("--port", arguments->port,
                   "TCP port on 127.0.0.1 and ::1 (default: any free one)")
      ->check(CLI::Range(0, 65535));
  command
      ->add_option("--listen", arguments->listen, "listen at ADDRESS:PORT instead; can be repeated")
      ->allow_extra_args(false)
      ->excludes("--port");
  auto* listen = command->add_option(
      "--lane-listen", arguments->lane_listen,
      "IP:PORT of this machine at which programs on other hosts call leased workers directly; port "
      "0: any free one (default: only programs on this machine can)");
  command->add_option("--data-memory", arguments->data_memory,
                      "memory for data objects, such as 2GiB; 0: none (default: up to a quarter)");
  command
      ->add_option("--data-spill", arguments->data_spill,
                   "directory on a local disk where data goes when other data needs its memory; it "
                   "takes up to four times that memory there (default: none)")
      ->check(CLI::ExistingDirectory)
      ->transform([](const std::string& directory) { return fs::absolute(directory).string(); });
  command
      ->add_option("--data-durable", arguments->data_durable,
                   "directory of yours alone where data that is put with --durable is kept as "
                   "files, beyond the end of Orchid (default: none)")
      ->check(CLI::ExistingDirectory)
      ->transform([](const std::string& directory) { return fs::absolute(directory).string(); });
  command
      ->add_option("--lane-fabric", arguments->lane_fabric,
                   "tcp (default), auto (RDMA if both hosts have it) or verbs (RDMA, or an error); "
                   "use auto and verbs only in a network that you trust")
      ->check(CLI::IsMember({"tcp", "auto", "verbs"}))
      ->needs(listen);
  command->add_option("--door", arguments->door,
                      "IP:PORT at which clients connect over UCX, as ucx://IP:PORT; only in a "
                      "network that you trust (default: none)");
  command
      ->add_option("--config", arguments->config,
                   "TOML file with settings of the gateway ('orchid-gateway --help' names them)")
      ->check(CLI::ExistingFile)
      ->transform([](const std::string& file) { return fs::absolute(file).string(); });
  command->callback([&shell, arguments] { shell.status = run_up(shell, *arguments); });
}

}  // namespace orchid::cli
