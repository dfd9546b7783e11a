// deliver.h: what an executor says, brought to a broker as the gateway does it: by its type.
#pragma once
#include <variant>

#include "leases/worker_broker.h"

namespace orchid::gateway {

inline void deliver(WorkerBroker& broker, const ExecutorId& executor, const ControlMessage& said,
                    MonotonicTime now) {
  std::visit(
      [&](const auto& message) {
        if constexpr (requires { broker.executor_said(executor, message, now); })
          broker.executor_said(executor, message, now);
      },
      said);
}

}  // namespace orchid::gateway
