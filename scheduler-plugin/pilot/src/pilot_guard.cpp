#include "pilot/pilot_guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "foundation/amounts.h"
#include "foundation/unique_fd.h"
#include "pilot/batch_script.h"
#include "pilot/pilot_owner.h"

namespace orchid::pilot {
namespace {

/// A gateway that is killed is gone by then, with its locks.
constexpr std::chrono::seconds settled_after{10};
constexpr std::chrono::seconds guard_looks_every{1};
constexpr std::chrono::seconds try_again_after{10};
/// Without slurmctld for so long: those that wait have a deadline of their own.
constexpr std::chrono::hours give_up_after{1};

/// Errors: those of `SlurmCommands`.
Result<void> clear_queue(const SlurmCommands& slurm, const GuardOptions& options,
                         const std::string& job_name, std::chrono::milliseconds outage) {
  const auto jobs = slurm.list(job_name);
  if (!jobs) return fail(jobs.error());
  const auto chosen = jobs_to_cancel(*jobs, outage);
  if (auto cancelled = slurm.cancel(job_name, chosen); !cancelled) return cancelled;
  if (!chosen.empty())
    options.say(fmt::format("the gateway has not come back: cancelled its pilots {}",
                            fmt::join(chosen, ", ")));
  return {};
}

}  // namespace

bool has_gateway(const std::filesystem::path& state) {
  const UniqueFd file(::open((state / "lock").c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return file && ::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Outage::Verdict Outage::look(MonotonicTime now, bool runs) {
  const bool is_over = now - began_ >= grace_;
  if (!runs) {
    was_gone_ = true;
    return is_over ? Verdict::over : Verdict::wait;
  }
  return was_gone_ || is_over || now - began_ >= settled_after ? Verdict::back : Verdict::wait;
}

std::vector<std::uint64_t> jobs_to_cancel(const std::vector<PilotJob>& jobs,
                                          std::chrono::milliseconds outage) {
  std::vector<std::uint64_t> chosen;
  for (const PilotJob& job : jobs) {
    const auto elapsed = parse_duration(job.elapsed);
    const bool has_noticed = job.state == "RUNNING" && elapsed && *elapsed >= outage;
    if (!job.has_ended() && !has_noticed) chosen.push_back(job.job);
  }
  return chosen;
}

Result<void> outlast_gateway(const SlurmCommands& slurm, const GuardOptions& options,
                             const Ending& ending) {
  const SystemClock clock;
  const MonotonicTime began = clock.now();
  Outage outage(began, options.grace);
  std::chrono::seconds pause{0};
  while (!ending.comes_within(pause)) {
    pause = guard_looks_every;
    // Nothing: no pilot was ever started, or all of this Orchid has been removed.
    const auto mark = read_mark(options.state);
    if (!mark) return fail(mark.error());
    if (mark->empty()) return {};
    const auto verdict = outage.look(clock.now(), has_gateway(options.state));
    if (verdict == Outage::Verdict::back) return {};
    if (verdict == Outage::Verdict::wait) continue;
    auto cleared =
        clear_queue(slurm, options, pilot_job_name(*mark),
                    std::chrono::duration_cast<std::chrono::milliseconds>(clock.now() - began));
    if (cleared) return {};
    const bool is_hopeless = cleared.error().code == ErrorCode::unsupported;
    if (is_hopeless || clock.now() - began > options.grace + give_up_after) return cleared;
    options.say("the gateway has ended, and its pilots cannot be cancelled yet: " +
                cleared.error().message);
    pause = try_again_after;
  }
  return {};
}

}  // namespace orchid::pilot
