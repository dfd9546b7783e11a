// commands/pilot_guard.cpp: orchid pilot guard: outlives the gateway that has started it, and takes
// its pilots out of the queue if it does not come back.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "commands/commands.h"
#include "foundation/unique_fd.h"
#include "pilot/batch_script.h"
#include "pilots/ending.h"
#include "pilots/pilot_guard.h"
#include "pilots/pilot_place.h"
#include "pilots/pilot_terms.h"

namespace orchid::cli {
namespace {

constexpr std::chrono::seconds look_every{1};
constexpr std::chrono::seconds try_again_after{10};
/// Without slurmctld for so long: those that wait have a deadline of their own.
constexpr std::chrono::hours give_up_after{1};

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

/// Errors: those of `SlurmCommands`.
Result<void> clear_queue(Shell& shell, const std::string& job_name,
                         std::chrono::milliseconds outage) {
  const pilot::SlurmCommands slurm = slurm_commands();
  const auto jobs = slurm.list(job_name);
  if (!jobs) return fail(jobs.error());
  const auto chosen = jobs_to_cancel(*jobs, outage);
  if (auto cancelled = slurm.cancel(job_name, chosen); !cancelled) return cancelled;
  if (!chosen.empty())
    shell.note(fmt::format("the gateway has not come back: cancelled its pilots {}",
                           fmt::join(chosen, ", ")));
  return {};
}

/// The gateway has gone.
ExitStatus outlast(Shell& shell, const std::filesystem::path& state, std::chrono::seconds grace,
                   const Ending& ending) {
  const SystemClock clock;
  const MonotonicTime began = clock.now();
  Outage outage(began, grace);
  std::chrono::seconds pause{0};
  while (!ending.comes_within(pause)) {
    pause = look_every;
    // Nothing: no pilot was ever started, or all of this Orchid has been removed.
    const auto mark = read_mark(state);
    if (!mark) return shell.report(mark.error());
    if (mark->empty()) return ExitStatus::ok;
    const auto verdict = outage.look(clock.now(), has_gateway(state));
    if (verdict == Outage::Verdict::back) return ExitStatus::ok;
    if (verdict == Outage::Verdict::wait) continue;
    const auto cleared =
        clear_queue(shell, pilot::pilot_job_name(*mark),
                    std::chrono::duration_cast<std::chrono::milliseconds>(clock.now() - began));
    if (cleared) return ExitStatus::ok;
    const bool is_hopeless = cleared.error().code == ErrorCode::unsupported;
    if (is_hopeless || clock.now() - began > grace + give_up_after)
      return shell.report(cleared.error());
    shell.note("the gateway has ended, and its pilots cannot be cancelled yet: " +
               cleared.error().message);
    pause = try_again_after;
  }
  return ExitStatus::ok;
}

ExitStatus run_guard(Shell& shell, const GuardArguments& arguments) {
  const auto grace = seconds_of(arguments.grace, "--grace");
  if (!grace) return shell.report(grace.error());
  Ending ending(/*with_input=*/true);
  if (ending.comes_within(std::nullopt) != Ending::Reason::input) return ExitStatus::ok;
  ending.forget_input();
  const std::filesystem::path state = arguments.state;
  write_to_log(state / "pilots");
  return outlast(shell, state, *grace, ending);
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
