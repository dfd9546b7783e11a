#include "pilot/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "pilot/slurm_words.h"

namespace orchid::pilot {
namespace {

constexpr std::chrono::seconds others_submit_within{30};
constexpr std::chrono::milliseconds reasons_interval{250};
/// slurmctld looks at new batch jobs every 3 s (batch_sched_delay).
constexpr std::chrono::seconds until_reasons_are_known{10};

/// How many more there may be. Errors: `quota`.
Result<unsigned> room_for_more(const SlurmCommands& slurm, const Submission& wanted) {
  const auto jobs = slurm.list(wanted.job_name);
  if (!jobs) return fail(jobs.error());
  if (jobs->size() < wanted.most) return wanted.most - static_cast<unsigned>(jobs->size());
  return fail(ErrorCode::quota,
              fmt::format("{} pilots of this gateway wait or run, and --max allows {}: stop some "
                          "with 'orchid pilot stop', or raise --max",
                          jobs->size(), wanted.most));
}

/// What Slurm says of one goes for all, which are alike. Where it does not answer, they wait.
/// Errors: those of `never_starts`, or why they cannot be cancelled.
Result<void> cancel_if_they_never_start(const SlurmCommands& slurm, const std::string& job_name,
                                        const std::vector<std::uint64_t>& submitted) {
  const auto give_up = std::chrono::steady_clock::now() + until_reasons_are_known;
  while (true) {
    auto jobs = slurm.list(job_name);
    if (!jobs) return {};
    std::erase_if(*jobs, [&](const PilotJob& job) {
      return std::ranges::find(submitted, job.job) == submitted.end();
    });
    for (const PilotJob& job : *jobs)
      if (auto refusal = never_starts(job)) {
        if (auto cancelled = slurm.cancel(job_name, submitted); !cancelled) return cancelled;
        return fail(std::move(*refusal));
      }
    if (std::ranges::none_of(*jobs, reason_is_to_come) ||
        std::chrono::steady_clock::now() >= give_up)
      return {};
    std::this_thread::sleep_for(reasons_interval);
  }
}

}  // namespace

Result<Submitted> submit_pilots(const SlurmCommands& slurm, const SubmissionGate& gate,
                                const Submission& wanted) {
  const auto alone = gate.enter(others_submit_within);  // or two could exceed `most` together
  if (!alone) return fail(alone.error());
  const auto room = room_for_more(slurm, wanted);
  if (!room) return fail(room.error());
  if (*room < wanted.count)
    wanted.say(fmt::format("--max {} leaves room for {} more", wanted.most, *room));
  Submitted submitted;
  while (submitted.trouble && submitted.jobs.size() < std::min(*room, wanted.count)) {
    const auto job = slurm.submit(wanted.script);
    if (job)
      submitted.jobs.push_back(*job);
    else
      submitted.trouble = fail(job.error());
  }
  if (submitted.jobs.empty()) return submitted;
  if (auto good = cancel_if_they_never_start(slurm, wanted.job_name, submitted.jobs); !good)
    return fail(std::move(good.error()));
  return submitted;
}

}  // namespace orchid::pilot
