// pilot/pilot_logs.h: what pilots have written: a file for each job, JOB.log; and why those by
// demand do not come.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pilot/slurm_commands.h"

namespace orchid::pilot {

/// Where a job writes. `folder`: the owner's `log_folder`.
[[nodiscard]] std::filesystem::path log_of(const std::filesystem::path& folder, std::uint64_t job);
/// The file that a batch script names, for whatever number its job gets.
[[nodiscard]] std::filesystem::path log_of_any(const std::filesystem::path& folder);
/// Of jobs that are not in the queue, the logs of the last `kept` stay; what cannot be removed
/// stays, too.
void remove_old_logs(const std::filesystem::path& folder, const std::vector<PilotJob>& in_queue,
                     std::size_t kept);

/// Why pilots by demand do not come: whole lines, in a file beside the logs; an empty text: nothing
/// is wrong. A folder that cannot be written has none.
void note_trouble(const std::filesystem::path& folder, const std::string& lines);
/// Nothing: nothing is wrong, or it cannot be read.
[[nodiscard]] std::vector<std::string> noted_trouble(const std::filesystem::path& folder);

}  // namespace orchid::pilot
