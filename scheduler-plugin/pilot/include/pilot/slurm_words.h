// pilot/slurm_words.h: what Slurm's commands print, as our errors and rows. No I/O.
#pragma once
#include <optional>
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
/// In what `scontrol show config` says. Errors: `internal`.
[[nodiscard]] Result<std::string> parse_cluster_name(std::string_view text);
/// In what `scontrol show partition --oneliner` says. "": there is none.
[[nodiscard]] std::string parse_default_partition(std::string_view text);
/// In what `scontrol show job N --oneliner` says. Of one that is COMPLETING the reason tells how it
/// has ended, unless somebody has cancelled or preempted it, or all went well. Errors: `internal`.
[[nodiscard]] Result<std::string> parse_job_state(std::string_view text);
/// Whether a job that is in that state now has ended because of what it is, or of its node; and not
/// because somebody wanted its cores, or it itself, no more. COMPLETING: nobody says that it has.
[[nodiscard]] bool has_failed(std::string_view state);
/// The answer of sbatch --parsable. Errors: `internal`.
[[nodiscard]] Result<std::uint64_t> parse_job_number(std::string_view text);
/// Why Slurm will never start a job that waits, as it is: nothing if it may. Slurm accepts such
/// jobs where EnforcePartLimits says NO, which is its default, and with limits of a QOS or an
/// account that do not deny at submission (reasons: squeue's manual, "job reason codes"). `quota`,
/// `denied` or `bad_request`.
[[nodiscard]] std::optional<Failure> never_starts(const PilotJob& job);
/// Whether slurmctld has not looked at it yet, or not closely: it has no reason, or the one that it
/// gets at submission when it does not fit its partition as that is now. The next pass says which
/// limit that is, or that it only has to wait.
[[nodiscard]] bool reason_is_to_come(const PilotJob& job);
/// Why a command failed, from what it said on standard error.
[[nodiscard]] Failure explain(std::string_view command, int status, std::string_view errors);
/// Whether one of the two was about the time that was asked for: with less of it a job may start.
[[nodiscard]] bool is_about_time(const Failure& refusal);
/// Whether it was about the node that was asked for: on another one the same job may start.
[[nodiscard]] bool is_about_node(const Failure& refusal);

}  // namespace orchid::pilot
