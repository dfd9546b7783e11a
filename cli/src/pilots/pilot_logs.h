// pilots/pilot_logs.h: what pilots have written: a file for each job, JOB.log; and why the last one
// by demand did not come.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
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

/// In a file beside the logs, for `orchid pilot list`; an empty text: the last one has joined. A
/// folder that cannot be written has none.
void note_trouble(const std::filesystem::path& folder, const std::string& trouble);
/// Nothing: there is none.
[[nodiscard]] std::optional<std::string> noted_trouble(const std::filesystem::path& folder);

}  // namespace orchid::cli
