// pilots/pilot_logs.h: what pilots have written: a file for each job, JOB.log.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "pilot/slurm_commands.h"

namespace orchid::cli {

/// Where a job writes. `folder`: the place's `log_folder`.
[[nodiscard]] std::filesystem::path log_of(const std::filesystem::path& folder, std::uint64_t job);
/// The file that a batch script names, for whatever number its job gets.
[[nodiscard]] std::filesystem::path log_of_any(const std::filesystem::path& folder);
/// Of jobs that are not in the queue, the logs of the last `kept` stay; what cannot be removed
/// stays, too.
void remove_old_logs(const std::filesystem::path& folder,
                     const std::vector<pilot::PilotJob>& in_queue, std::size_t kept);

}  // namespace orchid::cli
