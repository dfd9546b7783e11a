// supervisor/directories.h: where `orchid up` keeps its state, and where it leaves what other
// programs look for.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "foundation/result.h"

namespace orchid::cli {

/// What the choice depends on; tests pass their own.
struct UserSurroundings {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  std::function<bool(const std::filesystem::path&)>
      is_own_directory;  // exists and belongs to this user
  std::string home;
  uid_t uid = 0;
};
[[nodiscard]] UserSurroundings real_user_surroundings();

/// $XDG_RUNTIME_DIR/orchid; /tmp/orchid-<uid> where that variable is missing or names another
/// user's or no directory, as it often does inside a batch job.
[[nodiscard]] std::filesystem::path runtime_directory(const UserSurroundings& surroundings);
/// Where a running `orchid up` may have left gateway.json, the first choice first.
[[nodiscard]] std::vector<std::filesystem::path> runtime_places(
    const UserSurroundings& surroundings);
/// Where clients look for gateway.json: there, and where the gateway keeps its state, which other
/// hosts see.
[[nodiscard]] std::vector<std::filesystem::path> gateway_file_places(
    const UserSurroundings& surroundings);
/// $XDG_STATE_HOME/orchid, or ~/.local/state/orchid. Errors: `bad_configuration` (no home
/// directory).
[[nodiscard]] Result<std::filesystem::path> state_directory(const UserSurroundings& surroundings);

}  // namespace orchid::cli
