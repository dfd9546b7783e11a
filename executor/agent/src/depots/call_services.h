// depots/call_services.h: what workers ask of their depots is asked of the parts that do it.
#pragma once
#include "data/data_of_calls.h"
#include "depots/depot_pool.h"
#include "depots/module_service.h"
#include "memory/memory_of_calls.h"
#include "workers/worker_pool.h"

namespace orchid::executor {

struct CallServices {
  DataOfCalls& data;
  MemoryOfCalls& memory;
  ModuleService& modules;
};

/// What workers ask of their depots is asked there from now on; who breaks the rules is ended. All
/// of them outlive what comes of it.
void serve_calls(DepotPool& depots, const CallServices& services, WorkerPool& workers);

}  // namespace orchid::executor
