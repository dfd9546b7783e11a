// pilot/slurm_words.h: what Slurm's commands print, as our errors and rows. No I/O.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "pilot/slurm_commands.h"

namespace orchid::pilot {

/// What squeue is asked for, and understood by `parse_queue`.
extern const std::string_view queue_format;
/// Errors: `internal`: a line that is none.
[[nodiscard]] Result<std::vector<PilotJob>> parse_queue(std::string_view text);
/// The answer of sbatch --parsable. Errors: `internal`.
[[nodiscard]] Result<std::uint64_t> parse_job_number(std::string_view text);
/// Why a command failed, from what it said on standard error.
[[nodiscard]] Failure explain(std::string_view command, int status, std::string_view errors);

}  // namespace orchid::pilot
