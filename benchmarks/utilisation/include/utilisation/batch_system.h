// utilisation/batch_system.h: nodes whose cores jobs share, and a scheduler as Slurm's with
// sched/backfill and preempt/partition_prio: batch jobs in the order of their submission, pilots
// behind them, on any cores that are left.
//
// - A pass that follows each submission and end starts batch jobs in order until one has no room.
//   Behind such a job it looks at nothing more: pilots are on the same nodes.
// - Backfill, every `backfill_interval`, plans each waiting job as early as it fits without moving
//   one before it (conservative, as Slurm's), with the limits that users gave; whoever's plan is
//   now, starts. A pilot starts where it would end before a planned job needs its cores.
// - For batch jobs, cores of pilots are as good as idle ones. They take idle ones where there are
//   enough; else the youngest pilots of the chosen nodes go, each as a whole, until there are
//   enough, and the job starts when they are gone. (That is `preempt_youngest_first`; otherwise
//   Slurm takes them in an order that does not care how old they are.) Slurm's documentation has
//   backfill preempt all of a node instead: `PreemptedPilots::all_of_a_node`, in all passes.
#pragma once
#include <deque>
#include <map>
#include <random>

#include "utilisation/core_ledger.h"
#include "utilisation/free_profile.h"
#include "utilisation/model.h"

namespace orchid::utilisation {

using PilotId = std::uint64_t;

/// What is asked for with sbatch: cores of one node, for so long.
struct PilotJob {
  std::uint32_t cores = 1;
  SimTime length{0};
  std::optional<std::uint32_t> node;  // nothing: any
  bool whole_node = false;            // one on which nobody is, for itself alone
  SimTime leaves_early{0};            // before its time is over
  std::int32_t priority = 0;          // among pilots: the highest first, then the oldest
  friend bool operator==(const PilotJob&, const PilotJob&) = default;
};

struct Pilot {
  PilotId id = 0;
  PilotJob job;
  std::uint32_t node = 0;  // from here on: of one that runs
  CoreSet cores;
  SimTime started{0};
  SimTime ends{0};  // as the batch system knows it
};

/// Which pilots of a node go when a batch job needs some of their cores.
enum class PreemptedPilots : std::uint8_t { as_many_as_needed, all_of_a_node };

/// What a batch job waits for when pilots have to go.
struct Preemption {
  PreemptedPilots who = PreemptedPilots::as_many_as_needed;
  SimTime reclaim_least = utilisation::reclaim_least;
  SimTime reclaim_most = utilisation::reclaim_most;
  int late_looks = utilisation::late_looks;  // of 100 pilots
  /// Not by pilots: each of these jobs starts so much later than it could.
  const std::map<std::uint64_t, SimTime>* given = nullptr;
};

/// Owned by the thread of its simulation.
class BatchSystem {
 public:
  struct Options {
    ClusterShape shape;
    Span counted;
    Preemption preemption{};
    std::uint64_t seed = 1;
  };
  explicit BatchSystem(const Options& options);

  struct JobStart {
    std::uint64_t job = 0;
    SimTime at{0};      // later than the decision, if pilots have to go
    SimTime ends{0};    // at its end, or by the sweep after its limit
    SimTime delay{0};   // by pilots, from the pass that lets them go
    SimTime pass{0};    // until that pass
    SimTime waited{0};  // since its submission
  };
  /// What a pass, a submission or an end has brought about.
  struct Events {
    std::vector<JobStart> jobs;
    std::vector<PilotId> pilots_started;
    std::vector<PilotId> pilots_preempted;  // they are gone; nothing is known of them any more
  };

  /// Errors in its size are the caller's: a job has room in the empty cluster.
  void submit(const TraceJob& job);
  void job_ended(std::uint64_t job, SimTime now);
  PilotId submit(const PilotJob& pilot);
  /// One that waits or runs.
  void remove_pilot(PilotId pilot);
  [[nodiscard]] Events first_in_order_pass(SimTime now);
  [[nodiscard]] Events backfill_pass(SimTime now);

  [[nodiscard]] const std::map<PilotId, Pilot>& running_pilots() const { return running_pilots_; }
  [[nodiscard]] const std::map<PilotId, PilotJob>& waiting_pilots() const {
    return waiting_pilots_;
  }
  [[nodiscard]] std::size_t waiting_jobs() const { return queue_.size(); }

  struct Hole {
    std::uint32_t node = 0;
    std::uint32_t cores = 0;
    std::optional<SimTime> until;  // some of these cores are needed then
  };
  /// What nobody has now, as Slurm can tell it: plans are those of the last backfill. Of a node all
  /// of it first, and then what of it stays free for longer.
  [[nodiscard]] std::vector<Hole> holes(SimTime now) const;
  /// As long as this number stays the same, so do the holes.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

  /// Who has what of a node now: for placement.
  struct Holder {
    std::uint64_t job = 0;  // pilots' and batch jobs' numbers do not overlap
    CoreSet cores;
  };
  [[nodiscard]] std::vector<Holder> holders(std::uint32_t node) const;
  /// Nodes on which something has started or ended since this was last asked for.
  [[nodiscard]] std::vector<std::uint32_t> take_changed_nodes();

  [[nodiscard]] CoreLedger& ledger() { return ledger_; }
  [[nodiscard]] SimTime batch_time() const { return batch_time_; }
  [[nodiscard]] std::optional<std::string> audit() const;

 private:
  struct RunningJob {
    std::vector<std::pair<std::uint32_t, CoreSet>> cores;
    SimTime limit_ends{0};
  };
  struct PlannedJob {
    FreeProfile::Plan plan;
    SimTime length{0};
  };
  [[nodiscard]] std::vector<std::int32_t> free_of_batch() const;
  [[nodiscard]] FreeProfile profile(SimTime now) const;
  [[nodiscard]] FreeProfile profile_with_pilots(SimTime now, FreeProfile profile) const;
  void start(const TraceJob& job, const std::vector<std::int32_t>& free, SimTime now,
             Events& events);
  std::uint32_t make_room(NodeShare share, Events& events);
  void start_pilots(SimTime now, FreeProfile profile, Events& events);
  [[nodiscard]] std::optional<std::uint32_t> node_for(const PilotJob& pilot, SimTime now,
                                                      const FreeProfile& profile) const;
  SimTime draw(SimTime least, SimTime most);
  /// From SIGTERM to one pilot until its cores are the batch job's, without what any step takes.
  [[nodiscard]] SimTime reclaim_time();

  Options options_;
  CoreLedger ledger_;
  std::mt19937_64 random_;
  std::deque<TraceJob> queue_;
  std::map<std::uint64_t, RunningJob> running_;
  std::map<PilotId, PilotJob> waiting_pilots_;
  std::map<PilotId, Pilot> running_pilots_;
  std::map<std::uint64_t, PlannedJob> planned_;  // by the last backfill
  std::vector<bool> changed_;                    // nodes
  PilotId next_pilot_;
  std::uint64_t changes_ = 1;
  bool worth_a_backfill_ = true;
  SimTime batch_time_{0};
};

}  // namespace orchid::utilisation
