#include "http_unit.h"

#include <unistd.h>

#include <boost/asio/post.hpp>

namespace orchid::gateway {
namespace {

std::size_t share(std::size_t total, unsigned threads) { return (total + threads - 1) / threads; }

}  // namespace

HttpUnit::HttpUnit(std::size_t index, const Clock& clock, BrokerSupply& supply,
                   std::chrono::milliseconds worker_idle_time)
    : index_(index),
      dispatchers_(
          io_, clock, supply,
          {.add =
               [this, &supply](HolderId id, uid_t tenant, Dispatcher& dispatcher) {
                 supply.add_dispatcher(id, {tenant, user_name(tenant)}, poster(), dispatcher,
                                       dispatcher.alive());
               },
           .remove = [&supply](HolderId id) { supply.remove_dispatcher(id); }},
          {.owner = ::geteuid(), .thread = index, .each = {.give_back_after = worker_idle_time}}),
      limited_(dispatchers_, clock, poster()) {}

void HttpUnit::stop_calls() {
  limited_.stop();
  dispatchers_.stop();
}

Poster HttpUnit::poster() {
  return [&io = io_](Task task) { boost::asio::post(io, std::move(task)); };
}

void HttpUnit::complete(const SharedParts& shared) {
  const Config& config = shared.config;
  const InvocationDefaults defaults{
      .deadline = config.deadline, .async_deadline = config.async_deadline, .wait = config.wait};
  calls_ = std::make_unique<SyncCalls>(
      SyncCalls::Parts{limited_, shared.async, shared.clock, poster(), shared.control},
      SyncCalls::Options{.home = static_cast<InvocationHome>(index_ + 1),
                         .in_flight = share(config.in_flight, config.http_threads),
                         .recent = {}});
  thread_ = std::make_unique<HttpThread>(
      HttpThread::Parts{
          .io = io_,
          .router = router_,
          .tokens = shared.tokens,
          .runner = dispatchers_,
          .clock = shared.clock,
          .take_connection =
              [&gate = shared.executors](StreamSocket socket, UpgradeRequest request,
                                         PeerIdentity identity) {
                gate.accept(std::move(socket), std::move(request), std::move(identity));
              },
          .sweep =
              [this] {
                calls_->sweep();
                limited_.sweep();
                dispatchers_.sweep();
              },
          .is_idle = [this] { return dispatchers_.live_calls() == 0 && limited_.waiting() == 0; }},
      HttpThread::Options{.limits = {.header_bytes = config.header_bytes,
                                     .header_time = config.header_time,
                                     .body_time = config.body_time,
                                     .idle_time = config.idle_time,
                                     .write_time = config.write_time},
                          .connections = share(config.connections, config.http_threads),
                          .body_memory = {config.body_memory.value / config.http_threads}});
  invocation_routes_ = std::make_unique<InvocationRoutes>(
      InvocationRoutes::Parts{*calls_, shared.async, shared.table, thread_->own_metrics(),
                              shared.clock, poster(), shared.control, defaults});
  function_routes_ = std::make_unique<FunctionRoutes>(FunctionRoutes::Parts{
      shared.functions, shared.table, dispatchers_, poster(), shared.control});
  lease_routes_ = std::make_unique<LeaseRoutes>(LeaseRoutes::Parts{shared.leases, poster()});
  placement_routes_ =
      std::make_unique<PlacementRoutes>(PlacementRoutes::Parts{shared.broker, poster()});
  host_routes_ = std::make_unique<HostRoutes>(HostRoutes::Parts{shared.hosts, poster()});
  result_routes_ = std::make_unique<ResultRoutes>(
      ResultRoutes::Parts{shared.async, shared.calls, shared.clock, poster(), shared.control});
  system_routes_ =
      std::make_unique<SystemRoutes>(SystemRoutes::Parts{.control_status = shared.control_status,
                                                         .table = shared.table,
                                                         .metrics = shared.metrics,
                                                         .clock = shared.clock,
                                                         .started = shared.started,
                                                         .here = poster(),
                                                         .control = shared.control,
                                                         .defaults = defaults,
                                                         .queued_limit = config.queued,
                                                         .worker_memory = config.worker_memory});
  // The busiest first: routes are looked at in order.
  invocation_routes_->add_to(router_);
  result_routes_->add_to(router_);
  function_routes_->add_to(router_);
  lease_routes_->add_to(router_);
  placement_routes_->add_to(router_);
  host_routes_->add_to(router_);
  system_routes_->add_to(router_);
}

void HttpUnit::run() {
  calls_->adopt_thread();
  thread_->run();
}

}  // namespace orchid::gateway
