// start_up.h: all that can fail when the gateway starts, done before anything is built.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "clusters/capacity_source.h"
#include "config/config.h"
#include "flows/flow_service.h"
#include "foundation/result.h"
#include "functions/function_service.h"
#include "functions/function_table.h"
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

/// What an invocation runs: of the functions that there are, or of versions that only such need.
/// Null: it is gone.
[[nodiscard]] std::shared_ptr<const FunctionVersion> version_of(
    const InvocationRecord& record, const FunctionTable& table,
    const FunctionService::KeptVersions& kept);

[[nodiscard]] FlowService::Options flow_options(const Config& config);

/// Whose gateway this is.
[[nodiscard]] Tenant own_user();

}  // namespace orchid::gateway
