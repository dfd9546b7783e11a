// supervisor/up_lock.h: at most one `orchid up` in a runtime directory.
#pragma once
#include <filesystem>
#include <optional>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::cli {

/// Held until the descriptor is closed, by the process's end at the latest. Nothing: another
/// process has it. Errors: `system`.
[[nodiscard]] Result<std::optional<UniqueFd>> try_lock_runtime(
    const std::filesystem::path& runtime);

}  // namespace orchid::cli
