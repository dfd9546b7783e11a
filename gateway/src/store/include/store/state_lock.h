// store/state_lock.h: one gateway for each state directory.
#pragma once
#include <filesystem>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::gateway {

/// Takes the lock file in `directory`; it is held as long as the descriptor lives, and gone with
/// the process. Errors: `conflict`, with the holder's process id; `system`.
[[nodiscard]] Result<UniqueFd> lock_state_directory(const std::filesystem::path& directory);

}  // namespace orchid::gateway
