// foundation/file_lock.h: one of several programs of a user at a time.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid {

/// The file, made where it is not there, with mode 0600, and locked as long as its descriptor is
/// open. Errors: `timed_out`, with `busy` as its message, when another has it for all of
/// `patience`; `denied`, `not_found`, `system`.
[[nodiscard]] Result<UniqueFd> lock_file(const std::filesystem::path& path,
                                         std::chrono::milliseconds patience,
                                         const std::string& busy);

}  // namespace orchid
