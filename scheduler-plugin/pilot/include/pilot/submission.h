// pilot/submission.h: submits pilots for whoever asks for a number of them: `orchid pilot start`.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "pilot/slurm_commands.h"
#include "pilot/submission_gate.h"

namespace orchid::pilot {

struct Submission {
  std::string job_name;                              // of this gateway's pilots
  std::string script;                                // of each
  unsigned count = 1;                                // that are wanted
  unsigned most = 8;                                 // of this gateway that may wait or run
  std::function<void(const std::string& line)> say;  // why it may be fewer
};

struct Submitted {
  std::vector<std::uint64_t> jobs;
  Result<void> trouble;  // why Slurm has taken no more
};

/// Nobody else submits pilots of this gateway meanwhile. Slurm accepts what it will never start: if
/// it says so within some seconds, all are cancelled. Errors: `quota`, those of `SubmissionGate`,
/// of `SlurmCommands` and of `never_starts`.
[[nodiscard]] Result<Submitted> submit_pilots(const SlurmCommands& slurm,
                                              const SubmissionGate& gate, const Submission& wanted);

}  // namespace orchid::pilot
