// utilisation/model.h: what the simulated cluster costs in time, each number with its source. None
// of them is there to be tuned.
//
// "Measured" is on a two-core virtual machine with Slurm 22.05.8 as `./dev cluster up` starts it.
#pragma once
#include "pilot/look_interval.h"
#include "utilisation/trace.h"

namespace orchid::utilisation {

// The batch system.

/// Slurm's default (slurm.conf(5), SchedulerParameters=bf_interval): backfill looks at the queue so
/// often. What comes behind a job that waits for room, pilots included, starts with it only.
constexpr SimTime backfill_interval{30'000};
/// slurm.conf(5) advises at least the highest time limit, lest long jobs starve; its default is a
/// day.
constexpr SimTime backfill_window{48LL * 3600 * 1000};
/// Slurm's default bf_max_job_test of version 22.05.
constexpr std::size_t backfill_most_jobs = 500;
/// slurmctld's PERIODIC_TIMEOUT (its source): a job over its time limit ends with the next sweep.
constexpr SimTime limit_sweep{30'000};
/// A batch job that has to preempt a step which ends at SIGTERM, with GraceTime=0, starts so much
/// later than on idle nodes: 30 to 130 ms, measured. That is Slurm's own way, once for a job.
constexpr SimTime preemption_least{30};
constexpr SimTime preemption_most{130};

/// A job that has to preempt others is looked at with slurmctld's next pass, and not at its
/// submission: 0 to 1 s later, as `reclaim` has seen it with batch_sched_delay=0; that option's
/// default can make it 3 s more. It is the same whatever is preempted.
constexpr SimTime longest_until_pass{1'000};

// What nobody who runs functions in batch jobs can avoid.

/// From slurmctld's decision to the first line of the job's script: 16 to 21 ms (`pilot_start`).
constexpr SimTime job_launch{20};
/// From there to the first line of the job's step: 38 to 48 ms after the decision (`pilot_start`).
constexpr SimTime step_launch{25};
/// From there until the gateway has the executor's hello. With the first call it is 175 ms after
/// the decision, 210 at most (`pilot_start`).
constexpr SimTime executor_start{130};
/// From the request for a lease to the first call's beginning on another host
/// (docs/SPECIFICATION.md, `remote_start`: 9.3 ms).
constexpr SimTime lease_start{10};
constexpr SimTime start_up = job_launch + step_launch + executor_start + lease_start;

/// The function: so long on one core.
constexpr SimTime function_length{10'000};

// Orchid.

/// A batch job starts so much later in the place of a pilot than in that of a `sleep` step, in most
/// rounds of `reclaim` (p50 2 and 3 ms; `sleep` against itself p95 18 ms). `--reclaim-ms N`
/// simulates with N alone.
constexpr SimTime reclaim_least{2};
constexpr SimTime reclaim_most{15};
/// slurmd looks whether a job has ended 20 ms after it has told it to, and then after 50 ms more
/// (its source, _pause_for_job_completion). In two of 21 rounds of `reclaim` a pilot whose calls
/// compute missed the first look, in none of 21 one whose calls wait: in per cent, of each pilot.
constexpr int late_looks = 10;
/// The same of pilots whose workers hold 2 GiB each: in two of three runs of `reclaim` more than
/// half of the rounds were 40 ms later than `sleep` and more (p50 42 and 56 ms; 15 in the third).
constexpr int late_looks_of_heavy_workers = 60;
constexpr SimTime second_look{50};
/// The Slurm source asks slurmctld so often (PollSchedule::Options::interval).
constexpr SimTime poll_interval{2'000};
/// `orchid pilot keep` asks its pilot controller so often.
constexpr SimTime decision_interval = pilot::look_interval;

/// The executor of a pilot ends so long before its job's time limit (pilot/batch_script,
/// end_margin), and its job with it.
constexpr SimTime end_margin{5'000};
/// Nothing begins in a grant so long before its end (executor/agent, drain_time).
[[nodiscard]] constexpr SimTime drain_time(SimTime whole) {
  const SimTime tenth = whole / 10;
  const SimTime bounded = tenth < SimTime(2'000)    ? SimTime(2'000)
                          : tenth > SimTime(30'000) ? SimTime(30'000)
                                                    : tenth;
  return bounded < whole / 2 ? bounded : whole / 2;
}

}  // namespace orchid::utilisation
