// optimiser/library_process.h: an optimiser of a user's, in a shared library that runs in a process
// of its own.
#pragma once
#include <chrono>
#include <filesystem>
#include <memory>

#include "flow/optimiser.h"
#include "foundation/result.h"

namespace orchid::flow {

/// So long it may take for a decision; then its process is killed.
inline constexpr std::chrono::milliseconds decision_deadline{100};

/// Starts `program` (orchid-optimiser), which loads the library that `planned` names; a path that
/// is not absolute begins in `folder`. The process ends with what is returned. Blocks for two
/// seconds at most. Errors: `bad_configuration`: it is no optimiser, with the reason; `system`.
[[nodiscard]] Result<std::unique_ptr<Optimiser>> open_library(const std::filesystem::path& program,
                                                              const PlannedOptimiser& planned,
                                                              const std::filesystem::path& folder);

}  // namespace orchid::flow
