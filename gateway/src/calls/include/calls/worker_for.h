// calls/worker_for.h: the worker that a call asks for.
#pragma once
#include <compare>
#include <functional>
#include <optional>
#include <string>

#include "calls/function_needs.h"
#include "calls/module_hosts.h"
#include "foundation/result.h"
#include "placement/call_device.h"
#include "placement/worker_request.h"

namespace orchid::gateway {

/// What decides between calls beside their module: a call has to have it, or it does not matter.
struct CallPlace {
  std::optional<placement::HostKind> kind{};      // of its host; nothing: any
  std::optional<placement::CallDevice> device{};  // of its worker; nothing: as its function prefers
  std::string cluster{};                          // of its host; empty: any
  placement::GrantId data_at{};                   // has its data; empty: it is given none
  friend auto operator<=>(const CallPlace&, const CallPlace&) = default;
};

/// `needs`: null: one core. Kernels that no core can run leave the alternatives with a GPU,
/// and so does a wish for one; a wish for cores leaves the others. Memory 0: as the site gives.
[[nodiscard]] placement::WorkerRequest worker_for(const WorkerNeeds* needs,
                                                  const ModuleHosts& hosts, const CallPlace& place);

/// Whether a cluster of this name is known. Asked on the control thread. Errors: `bad_request`.
using CheckCluster = std::function<Result<void>(const std::string& name)>;

struct FunctionVersion;
/// Of a call of this version, as things stand.
[[nodiscard]] placement::WorkerRequest worker_for(const FunctionVersion& version,
                                                  const CallPlace& place);

}  // namespace orchid::gateway
