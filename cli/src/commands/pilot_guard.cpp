// commands/pilot_guard.cpp: orchid pilot guard: outlives the gateway that has started it, and takes
// its pilots out of the queue if it does not come back.
#include <fcntl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>

#include "commands/commands.h"
#include "commands/pilot_terms.h"
#include "foundation/unique_fd.h"
#include "pilot/ending.h"
#include "pilot/pilot_guard.h"

namespace orchid::cli {
namespace {

struct GuardArguments {
  std::string state;
  std::string grace = default_gateway_grace();
};

/// Whoever reads what the gateway says shall not have to wait for us.
void write_to_log(const std::filesystem::path& folder) {
  UniqueFd log(
      ::open((folder / "guard.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) log = UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ::dup2(log.get(), STDOUT_FILENO);
  ::dup2(log.get(), STDERR_FILENO);
}

ExitStatus run_guard(Shell& shell, const GuardArguments& arguments) {
  const auto grace = seconds_of(arguments.grace, "--grace");
  if (!grace) return shell.report(grace.error());
  pilot::Ending ending(/*with_input=*/true);
  if (ending.comes_within(std::nullopt) != pilot::Ending::Reason::input) return ExitStatus::ok;
  ending.forget_input();
  const std::filesystem::path state = arguments.state;
  write_to_log(state / "pilots");
  const auto guarded =
      pilot::outlast_gateway(slurm_commands(),
                             {.state = state,
                              .grace = *grace,
                              .say = [&shell](const std::string& line) { shell.note(line); }},
                             ending);
  return guarded ? ExitStatus::ok : shell.report(guarded.error());
}

}  // namespace

void add_pilot_guard(CLI::App& pilots, Shell& shell) {
  auto* command = add_command(
      pilots, shell, "guard",
      "Cancel the pilots of a gateway that has ended and does not come back",
      "  (a gateway starts this with the first pilot; it waits for the end of its standard input)");
  auto arguments = std::make_shared<GuardArguments>();
  command->add_option("--state", arguments->state, "the gateway's state directory")->required();
  add_gateway_grace(*command, "--grace", arguments->grace, "how long the gateway may be away");
  command->callback([&shell, arguments] { shell.status = run_guard(shell, *arguments); });
}

}  // namespace orchid::cli
