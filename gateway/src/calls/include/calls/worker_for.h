// calls/worker_for.h: the worker that a call asks for.
#pragma once
#include <optional>

#include "calls/function_needs.h"
#include "calls/module_hosts.h"
#include "placement/worker_request.h"

namespace orchid::gateway {

/// `needs`: null: one core. Kernels that no core can run leave the alternatives with a GPU. Memory
/// 0: as the site gives.
[[nodiscard]] placement::WorkerRequest worker_for(const WorkerNeeds* needs,
                                                  const ModuleHosts& hosts,
                                                  std::optional<placement::HostKind> kind);

}  // namespace orchid::gateway
