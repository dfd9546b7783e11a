// http_unit.h: everything that belongs to one HTTP thread, built together.
#pragma once
#include <boost/asio/io_context.hpp>
#include <memory>
#include <vector>

#include "config.h"
#include "dispatcher/dispatchers_by_tenant.h"
#include "functions/function_routes.h"
#include "functions/function_service.h"
#include "functions/published.h"
#include "invocations/invocation_routes.h"
#include "invocations/limited_runner.h"
#include "invocations/result_routes.h"
#include "invocations/sync_calls.h"
#include "leases/broker_supply.h"
#include "leases/executor_service.h"
#include "leases/lease_routes.h"
#include "leases/placement_routes.h"
#include "reports/host_routes.h"
#include "server/http_thread.h"
#include "system/system_routes.h"

namespace orchid::gateway {

/// What HTTP threads share: owned by the gateway, outlives them.
struct SharedParts {
  const Config& config;
  const Clock& clock;
  MonotonicTime started;
  const TokenBook& tokens;
  Published<FunctionTable>& table;
  FunctionService& functions;
  AsyncInvocations& async;
  BrokerLoop& broker;
  LeaseService& leases;
  HostReports& hosts;
  ExecutorGate& executors;
  Poster control;
  std::function<ControlStatus()> control_status;
  const std::vector<CallsPort>& calls;
  const std::vector<const ThreadMetrics*>& metrics;
};

/// Built by the main thread in two steps: the dispatchers first, since the control thread's objects
/// need them; then the rest. Runs on its HTTP thread, and is destroyed by the main thread after
/// that has ended.
class HttpUnit {
 public:
  /// `worker_idle_time`: a worker that no call has used for so long is given back.
  HttpUnit(std::size_t index, const Clock& clock, BrokerSupply& supply,
           std::chrono::milliseconds worker_idle_time);
  void complete(const SharedParts& shared);

  [[nodiscard]] boost::asio::io_context& io() { return io_; }
  [[nodiscard]] Poster poster();
  [[nodiscard]] CallRunner& runner() { return limited_; }
  [[nodiscard]] DispatchersByTenant& dispatchers() { return dispatchers_; }
  /// Ends what still waits or runs with `cancelled`, and gives the workers back.
  void stop_calls();
  [[nodiscard]] SyncCalls& calls() { return *calls_; }
  [[nodiscard]] HttpThread& thread() { return *thread_; }
  /// The thread's body, up to the end of the drain.
  void run();

 private:
  std::size_t index_;
  boost::asio::io_context io_{1};  // one thread runs it
  DispatchersByTenant dispatchers_;
  LimitedRunner limited_;
  std::unique_ptr<SyncCalls> calls_;
  std::unique_ptr<FunctionRoutes> function_routes_;
  std::unique_ptr<InvocationRoutes> invocation_routes_;
  std::unique_ptr<LeaseRoutes> lease_routes_;
  std::unique_ptr<PlacementRoutes> placement_routes_;
  std::unique_ptr<HostRoutes> host_routes_;
  std::unique_ptr<ResultRoutes> result_routes_;
  std::unique_ptr<SystemRoutes> system_routes_;
  Router router_;
  std::unique_ptr<HttpThread> thread_;
};

}  // namespace orchid::gateway
