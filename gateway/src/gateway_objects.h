// gateway_objects.h: what the process is made of: gateway.cpp builds it, runs it and takes it down,
// gateway_routes.cpp says what it answers over HTTP.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "data/data_service.h"
#include "dispatcher/dispatch_counts.h"
#include "door_process.h"
#include "flows/flow_service.h"
#include "foundation/background_thread.h"
#include "foundation/clock.h"
#include "functions/function_service.h"
#include "gateway.h"
#include "http/routes.h"
#include "http/stream_limit.h"
#include "http_unit.h"
#include "inspector/inspector.h"
#include "invocations/async_invocations.h"
#include "invocations/result_routes.h"
#include "leases/broker_supply.h"
#include "leases/executor_service.h"
#include "leases/memory_lease_service.h"
#include "listening.h"
#include "page/page_gate.h"
#include "page/page_hosts.h"
#include "page/page_sessions.h"
#include "pilots/pilot_processes.h"
#include "reports/host_reports.h"
#include "reports/utilisation.h"
#include "server/listener.h"
#include "start_up.h"
#include "system/system_routes.h"
#include "tenants/token_book.h"

namespace orchid::gateway {

/// All objects of the process, in the order in which they are built, and its threads.
class Gateway::Objects {
 public:
  Objects(Config config, StartUp opened);
  void start();
  [[nodiscard]] std::string announcement() const;
  void stop();

 private:
  using KeptVersions = FunctionService::KeptVersions;
  /// What services tell executors.
  [[nodiscard]] auto sender() {
    return [this](const ExecutorId& executor, ControlMessage message) {
      executors_.gate().send(executor, std::move(message));
    };
  }
  void build_async();
  void build_units();
  [[nodiscard]] std::vector<MakeRoutes> all_routes();
  [[nodiscard]] CheckCluster cluster_check();
  [[nodiscard]] FollowingRunner::Find find_for(Poster here);
  /// On the thread that stored calls go to first, of those that have as many.
  [[nodiscard]] std::function<void(uid_t, std::shared_ptr<const FunctionVersion>, CallPlace)>
  warm_first();
  [[nodiscard]] ControlStatus control_status();
  void add_metrics(MetricsText& text);
  void build_listeners(std::vector<ListeningSocket> sockets);
  void restore_invocations(std::vector<InvocationRecord> unfinished, const KeptVersions& kept);
  void run_control();
  void run_http(HttpUnit& unit);
  void control_tick();
  void on_control_and_wait(const std::function<void()>& work);

  Config config_;
  SystemClock clock_;
  MonotonicTime started_;
  std::unique_ptr<Store> store_;
  TokenBook tokens_;
  Published<FunctionTable> table_;
  StreamLimit streams_;
  std::vector<std::string> urls_;
  BackgroundThread closing_;  // of files that may be large
  PageHosts page_hosts_;
  PageSessions page_sessions_;
  PageGate page_gate_;

  boost::asio::io_context control_io_{1};
  boost::asio::steady_timer control_timer_{control_io_};
  Poster control_;
  Clusters clusters_;
  WorkerBroker broker_;
  BrokerLoop broker_loop_;
  ExecutorMessages messages_;
  LeaseService leases_;
  BrokerSupply supply_;
  ExecutorService executors_;
  DataService data_;
  MemoryLeaseService memory_;
  HostReports host_reports_;
  Utilisation utilisation_;
  Inspector inspector_;
  DoorProcess door_;
  PilotProcesses pilots_;
  FlowService flows_;
  FunctionService functions_;
  std::vector<std::unique_ptr<HttpUnit>> units_;
  std::unique_ptr<AsyncInvocations> async_;
  std::vector<CallsPort> calls_;
  std::vector<const HttpMetrics*> http_metrics_;
  std::vector<const CallMetrics*> call_metrics_;
  std::vector<const DispatchCounts*> dispatch_counts_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::size_t next_unit_ = 0;  // of the first HTTP thread, which accepts

  std::latch drained_;
  std::vector<std::jthread> http_threads_;
  std::jthread control_thread_;
};

}  // namespace orchid::gateway
