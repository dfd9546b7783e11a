#include "placement_settings.h"

#include <string>
#include <utility>

#include "placement/policy_library.h"

namespace orchid::gateway {

Result<std::unique_ptr<placement::Policy>> placement_policy(const Config& config) {
  const std::string& name = config.placement_policy;
  auto policy = name.contains('/') ? placement::load_policy(name) : placement::make_policy(name);
  if (!policy) return fail(std::move(policy.error()).while_doing("placement_policy"));
  return policy;
}

Capacity::Options capacity_options(const Config& config, std::unique_ptr<placement::Policy> policy,
                                   const HostKnowledge& clusters) {
  Capacity::Options options{.policy = std::move(policy),
                            .knowledge = &clusters,
                            .cores_per_user = config.placement_cores_per_user,
                            .fair_share_half_life = config.placement_fair_share_half_life};
  if (config.placement_watts_per_host != 0)
    options.watts_per_host = config.placement_watts_per_host;
  options.watts_per_core = config.placement_watts_per_core;
  for (const auto& [name, tenant] : config.tenants)
    options.tenants[name] = {
        .quota = {.cores = tenant.cores, .gpus = tenant.gpus, .leases = tenant.leases},
        .weight = tenant.weight};
  return options;
}

}  // namespace orchid::gateway
