// placement_settings.h: what the configuration says of placement.
#pragma once
#include <memory>

#include "config/config.h"
#include "foundation/result.h"
#include "hosts/capacity.h"

namespace orchid::gateway {

/// One of ours by its name, or a site's by the path of its library. Errors: `bad_configuration`.
[[nodiscard]] Result<std::unique_ptr<placement::Policy>> placement_policy(const Config& config);

/// `clusters` outlives the capacity.
[[nodiscard]] Capacity::Options capacity_options(const Config& config,
                                                 std::unique_ptr<placement::Policy> policy,
                                                 const HostKnowledge& clusters);

}  // namespace orchid::gateway
