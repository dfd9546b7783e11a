// What the gateway answers over HTTP, folder by folder, and the metrics that each has.
#include <functional>
#include <memory>
#include <utility>

#include "clusters/cluster_report.h"
#include "data/data_routes.h"
#include "data/room_routes.h"
#include "flows/flow_routes.h"
#include "functions/function_routes.h"
#include "gateway_objects.h"
#include "hosts/executor_routes.h"
#include "hosts/host_metrics.h"
#include "invocations/invocation_routes.h"
#include "invocations/result_routes.h"
#include "leases/lease_routes.h"
#include "leases/placement_routes.h"
#include "page/page_routes.h"
#include "reports/host_routes.h"
#include "system/system_routes.h"

namespace orchid::gateway {

ControlStatus Gateway::Objects::control_status() {
  return {.inspector_up = inspector_.is_up(), .executors_connected = broker_.hosts().connected()};
}

/// What each folder has; on the control thread.
void Gateway::Objects::add_metrics(MetricsText& text) {
  inspector_.add_metrics(text);
  async_->add_metrics(text);
  orchid::gateway::add_metrics(text, clusters_.states(), clock_.now());
  orchid::gateway::add_metrics(text, http_metrics_);
  orchid::gateway::add_metrics(text, call_metrics_);
  orchid::gateway::add_metrics(text, dispatch_counts_);
  orchid::gateway::add_metrics(text, broker_.hosts());
  executors_.gate().add_metrics(text);
  data_.add_metrics(text);
  memory_.leases().add_metrics(text);
}

CheckCluster Gateway::Objects::cluster_check() {
  return [this](const std::string& name) { return broker_.check_cluster(name); };
}

std::function<void(uid_t, std::shared_ptr<const FunctionVersion>, CallPlace)>
Gateway::Objects::warm_first() {
  HttpUnit& first = *units_.front();
  return [&first, post = first.poster()](
             uid_t tenant, std::shared_ptr<const FunctionVersion> version, CallPlace place) {
    post([&first, tenant, version = std::move(version), place = std::move(place)] {
      first.dispatchers().warm(tenant, version, place);
    });
  };
}

/// What each folder answers. The busiest first: routes are looked at in order.
std::vector<MakeRoutes> Gateway::Objects::all_routes() {
  const InvocationDefaults defaults{
      .deadline = config_.deadline, .async_deadline = config_.async_deadline, .wait = config_.wait};
  return {
      [this, defaults](const HttpThreadPort& thread) {
        HttpUnit& unit = *units_[thread.number];
        return std::make_unique<InvocationRoutes>(
            InvocationRoutes::Parts{unit.calls(), *async_, table_, clock_, thread.here, control_,
                                    data_.copies().finder(), cluster_check(), defaults});
      },
      make_routes<ResultRoutes>(*async_, calls_, clock_, control_, streams_),
      [this](const HttpThreadPort& thread) {
        return std::make_unique<FunctionRoutes>(FunctionRoutes::Parts{
            functions_, table_, units_[thread.number]->dispatchers(), thread.here, control_,
            data_.copies().finder(), cluster_check(), warm_first()});
      },
      make_routes<LeaseRoutes>(leases_, memory_),
      [this](const HttpThreadPort& thread) {
        return std::make_unique<DataRoutes>(DataRoutes::Parts{
            data_, units_[thread.number]->io(), clock_, control_, thread.here, closing_});
      },
      [this](const HttpThreadPort& thread) {
        return std::make_unique<RoomRoutes>(
            RoomRoutes::Parts{data_, clock_, control_, thread.here});
      },
      make_routes<FlowRoutes>(flows_, control_, streams_),
      make_routes<PlacementRoutes>(broker_loop_),
      make_routes<HostRoutes>(host_reports_, utilisation_),
      [this, defaults](const HttpThreadPort& thread) {
        return std::make_unique<SystemRoutes>(
            SystemRoutes::Parts{.control_status = [this] { return control_status(); },
                                .add_metrics = [this](MetricsText& text) { add_metrics(text); },
                                .table = table_,
                                .clock = clock_,
                                .started = started_,
                                .here = thread.here,
                                .control = control_,
                                .defaults = defaults,
                                .queued_limit = config_.queued,
                                .event_streams = config_.event_streams,
                                .worker_memory = config_.worker_memory});
      },
      make_routes<ExecutorRoutes>(executors_.gate()),
      make_routes<PageRoutes>(page_gate_, page_sessions_, urls_),
  };
}

}  // namespace orchid::gateway
