// utilisation/simulation.h: a trace on a cluster with pilots, event by event.
//
// Each pass of the batch system, the executors' comings and goings, the polls of the Slurm source
// and the decisions about pilots happen at the times that model.h says; placement and pilot
// controller are the product's own.
#pragma once
#include "utilisation/function_load.h"
#include "utilisation/pilot_policy.h"

namespace orchid::utilisation {

struct RunOptions {
  ClusterShape shape;
  Span counted;
  Preemption preemption{};
  std::uint64_t seed = 1;
  bool audit = false;  // counts all cores again after each event: slow
};

/// Where idle core time went that functions did not use: sampled at each poll. With what was
/// drained, cut off, or too short for one more function, it is all that is missing.
struct LostTime {
  SimTime starting{0};   // a pilot has them, and its executor is not there yet
  SimTime queued{0};     // a pilot waits for this node
  SimTime too_short{0};  // they are needed within the shortest pilot's time
  SimTime unasked{0};    // nobody asked for them
};

struct RunReport {
  LostTime lost;
  IdleTime idle;  // without batch jobs, as these ran in this very run
  FunctionTotals functions;
  SimTime batch_time{0};
  std::uint64_t jobs = 0;                   // started in the counted time
  std::vector<double> delays_ms;            // of those that had to wait for pilots to go
  std::vector<double> delays_with_pass_ms;  // with the time until slurmctld lets these go
  std::map<std::uint64_t, SimTime> later;   // the same of all jobs that had any, by job
  double mean_wait_seconds = 0;             // of all of them, since their submission
  std::uint64_t pilots_started = 0;
  std::uint64_t pilots_preempted = 0;
  std::size_t most_waiting = 0;       // pilots at a time
  SimTime pilot_time{0};              // core time that pilots had
  std::optional<std::string> broken;  // what an audit has found

  /// Of the idle core time, what functions that completed have used.
  [[nodiscard]] double recovered() const;
  /// The same for who knows the future.
  [[nodiscard]] double oracle() const;
  /// Core time of batch jobs over all core time.
  [[nodiscard]] double utilisation(const RunOptions& options) const;
};

[[nodiscard]] RunReport simulate(const Trace& trace, const RunOptions& options,
                                 PilotPolicy& policy);

}  // namespace orchid::utilisation
