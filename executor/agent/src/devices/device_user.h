// devices/device_user.h: a worker as the GPU sees it that serves it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "foundation/unique_fd.h"
#include "protocol/lease_id.h"
#include "workers/worker_process.h"

namespace orchid::executor {

/// Whose kernels may share a context, and so reach each other's memory.
struct DeviceOwner {
  LeaseId lease;
  std::string module;  // of the gateway's leases, and where processes are separate; "": all of them
  /// Of the gateway's own leases, for calls over HTTP: what a tenant calls of one module is one
  /// owner, whichever of these leases it has.
  std::optional<std::uint32_t> http_tenant = {};

  friend bool operator==(const DeviceOwner& one, const DeviceOwner& other) {
    return one.module == other.module && one.http_tenant == other.http_tenant &&
           (one.http_tenant || one.lease == other.lease);
  }
};

/// Kernels of a module in one of the worker's slots.
struct SlotKernels {
  std::uint32_t generation = 0;
  std::shared_ptr<const UniqueFd> ptx;
  /// The driver has refused them: its words.
  std::string refusal = {};
};

/// What became of the device process that served a worker.
struct DeviceLoss {
  enum class Kind {
    crashed,   // a kernel of the worker did it
    lost,      // nobody's doing: the call can run elsewhere
    nonsense,  // the worker wrote what none of ours does
  };
  Kind kind = Kind::lost;
  std::string message;
};

/// Owned by the agent's thread: by the worker's session, and by the GPU while that serves it.
struct DeviceUser {
  std::shared_ptr<WorkerProcess> worker;
  DeviceOwner owner;
  bool remote_calls =
      false;  // they come from another host: the GPU's process cannot map their lane
  std::map<std::uint32_t, SlotKernels> kernels = {};  // by slot
  /// The process has ended, or the worker's lane to it has. The worker is not served any more.
  std::function<void(const DeviceLoss&)> lost = {};

  /// The driver's words, if it has refused the kernels of that slot.
  [[nodiscard]] const std::string* refusal(std::uint32_t slot) const {
    const auto found = kernels.find(slot);
    if (found == kernels.end() || found->second.refusal.empty()) return nullptr;
    return &found->second.refusal;
  }
  /// A call of it has asked for the GPU, and is not over.
  [[nodiscard]] bool is_using() const {
    const StatusPage& page = worker->page();
    const std::uint64_t word = page.state.load();
    return run_state_of(word) == RunState::running && page.device_call.load() == call_of(word);
  }
};

}  // namespace orchid::executor
