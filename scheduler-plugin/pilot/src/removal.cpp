#include "pilot/removal.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "pilot/batch_script.h"
#include "pilot/submission_gate.h"

namespace orchid::pilot {
namespace {

constexpr std::chrono::milliseconds queue_interval{250};

/// What of `jobs` is to go. Errors: `not_found`.
Result<std::vector<std::uint64_t>> choose(const std::vector<PilotJob>& jobs, const Removal& removal,
                                          bool all_are_there) {
  std::vector<std::uint64_t> own;
  for (const PilotJob& job : jobs) own.push_back(job.job);
  if (removal.all) return own;
  std::vector<std::uint64_t> chosen = removal.jobs;
  const auto is_missing = [&](const std::uint64_t job) {
    return std::ranges::find(own, job) == own.end();
  };
  if (const auto missing = std::ranges::find_if(chosen, is_missing);
      all_are_there && missing != chosen.end())
    return fail(ErrorCode::not_found,
                fmt::format("job {} is not a pilot of this gateway; 'orchid pilot list' shows them",
                            *missing));
  std::erase_if(chosen, is_missing);
  return chosen;
}

Result<std::set<std::uint64_t>> cancel_until_gone(const SlurmCommands& slurm,
                                                  const PilotOwner& owner, const Removal& removal) {
  const std::string name = pilot_job_name(owner.mark);
  const auto give_up = std::chrono::steady_clock::now() + removal.within;
  std::set<std::uint64_t> told;
  for (bool first = true;; first = false) {
    const auto jobs = pilots_of(owner, slurm);
    if (!jobs) return fail(jobs.error());
    auto left = choose(*jobs, removal, /*all_are_there=*/first);
    if (!left) return fail(std::move(left.error()));
    if (left->empty()) return told;
    std::vector<std::uint64_t> fresh = *left;
    std::erase_if(fresh, [&](const std::uint64_t job) { return told.contains(job); });
    if (const auto cancelled = slurm.cancel(name, fresh); !cancelled)
      return fail(cancelled.error());
    told.insert(fresh.begin(), fresh.end());
    if (std::chrono::steady_clock::now() >= give_up)
      return fail(ErrorCode::timed_out,
                  "the pilots have been told to end, and some are still there; 'orchid pilot list' "
                  "shows them");
    std::this_thread::sleep_for(queue_interval);
  }
}

}  // namespace

Result<std::set<std::uint64_t>> remove_pilots(const SlurmCommands& slurm, const PilotOwner& owner,
                                              const Removal& removal) {
  if (removal.all && !owner.mark.empty()) {
    const auto now = std::chrono::system_clock::now();
    if (const auto begun =
            SubmissionGate(owner.state).pause(now, now + removal.pause, removal.within);
        !begun)
      return fail(begun.error());
  }
  return cancel_until_gone(slurm, owner, removal);
}

}  // namespace orchid::pilot
