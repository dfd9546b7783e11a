// placement/policy_library.h: a site's own policy, out of a shared library.
#pragma once
#include <filesystem>
#include <memory>

#include "placement/policy.h"

namespace orchid::placement {

/// Loads the policy that the library exports with `orchid_placement_policy`. Its code runs in this
/// process with all of its rights: who names the file in the configuration is trusted with them,
/// and so is who may write it. The library stays loaded. Errors: `bad_configuration` (no absolute
/// path, it cannot be loaded, exports no policy, is made for another ABI, or its policy is
/// incomplete).
[[nodiscard]] Result<std::unique_ptr<Policy>> load_policy(const std::filesystem::path& library);

}  // namespace orchid::placement
