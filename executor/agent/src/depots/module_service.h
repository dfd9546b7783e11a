// depots/module_service.h: who makes modules for workers that ask their depots for that.
#pragma once
#include <cstdint>
#include <functional>

#include "protocol/lease_tenant.h"
#include "protocol/service_messages.h"

namespace orchid::executor {

/// On the agent's thread.
class ModuleService {
 public:
  ModuleService() = default;
  ModuleService(const ModuleService&) = delete;
  ModuleService& operator=(const ModuleService&) = delete;
  virtual ~ModuleService() = default;

  /// Once, with the descriptor that goes with it (-1: none does); its sequence is the request's.
  using Answer = std::function<void(const ServiceAnswer&, int descriptor)>;
  /// `request`: create_module, make_module, share_module or fetch_module.
  virtual void ask(const LeaseTenant& tenant, std::uint64_t worker, const ServiceRequest& request,
                   const Answer& answer) = 0;
  virtual void worker_ended(std::uint64_t worker) = 0;
};

}  // namespace orchid::executor
