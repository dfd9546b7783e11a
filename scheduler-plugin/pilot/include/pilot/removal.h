// pilot/removal.h: ends pilots for whoever wants that: `orchid pilot stop`.
#pragma once
#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

#include "foundation/result.h"
#include "pilot/pilot_owner.h"
#include "pilot/slurm_commands.h"

namespace orchid::pilot {

struct Removal {
  std::vector<std::uint64_t> jobs = {};  // if not `all`
  bool all = false;                      // also those that come meanwhile
  std::chrono::seconds within{30};
  std::chrono::seconds pause{600};  // with `all`: so long none is submitted by demand
};

/// Returns when none of them is in the queue any more, with those that it has cancelled. Errors:
/// `not_found`: a job that is no pilot of this gateway; `timed_out`; those of `SubmissionGate` and
/// `SlurmCommands`.
[[nodiscard]] Result<std::set<std::uint64_t>> remove_pilots(const SlurmCommands& slurm,
                                                            const PilotOwner& owner,
                                                            const Removal& removal);

}  // namespace orchid::pilot
