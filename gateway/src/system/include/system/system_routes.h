// system/system_routes.h: the gateway itself: health, version, limits, metrics, its API
// description.
#pragma once
#include <functional>
#include <string>

#include "foundation/clock.h"
#include "foundation/metrics_text.h"
#include "foundation/task.h"
#include "foundation/units.h"
#include "functions/function_table.h"
#include "functions/published.h"
#include "http/routes.h"
#include "invocations/invocation_options.h"

namespace orchid::gateway {

/// Of the control thread, for /readyz.
struct ControlStatus {
  bool inspector_up = false;
  std::size_t executors_connected = 0;
};

/// Owned by its HTTP thread; outlives its router.
class SystemRoutes final : public Routes {
 public:
  struct Parts {
    std::function<ControlStatus()> control_status;  // on the control thread
    std::function<void(MetricsText&)> add_metrics;  // on the control thread; of all other folders
    Published<FunctionTable>& table;
    const Clock& clock;
    MonotonicTime started;
    Poster here;
    Poster control;
    InvocationDefaults defaults;
    std::size_t queued_limit = 0;
    std::size_t event_streams = 0;  // of one tenant at a time
    ByteCount worker_memory;
  };
  explicit SystemRoutes(Parts parts) : parts_(std::move(parts)) {}
  void add_to(Router& router) override;

 private:
  void ready(const Reply& reply);
  void metrics(const Reply& reply);
  void add_own_metrics(MetricsText& text) const;
  void limits(const Reply& reply);
  void ask_control(std::function<void(ControlStatus)> done);

  Parts parts_;
};

}  // namespace orchid::gateway
