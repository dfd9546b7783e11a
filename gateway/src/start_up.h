// start_up.h: all that can fail when the gateway starts, done before anything is built.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "clusters/capacity_source.h"
#include "config/config.h"
#include "foundation/result.h"
#include "listening.h"
#include "placement/placement.h"
#include "store/store.h"

namespace orchid::gateway {

struct StartUp {
  std::unique_ptr<Store> store;
  StartUpState state;
  ListeningSockets sockets;
  std::string boot_id;
  std::unique_ptr<placement::Policy> policy;
  std::vector<CapacitySource::Options> sources;
};

/// Errors: everything that can be wrong with configuration, state directory and addresses.
[[nodiscard]] Result<StartUp> start_up(const Config& config);

/// Whose gateway this is.
[[nodiscard]] Tenant own_user();

}  // namespace orchid::gateway
