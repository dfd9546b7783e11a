#include "gateway.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <latch>
#include <map>
#include <thread>
#include <vector>

#include "clusters/cluster_report.h"
#include "data/data_keeper.h"
#include "data/data_routes.h"
#include "data/room_routes.h"
#include "data_settings.h"
#include "dispatcher/dispatch_counts.h"
#include "door_process.h"
#include "flows/flow_routes.h"
#include "flows/flow_service.h"
#include "foundation/background_thread.h"
#include "foundation/clock.h"
#include "foundation/log.h"
#include "functions/function_routes.h"
#include "hosts/executor_routes.h"
#include "hosts/host_metrics.h"
#include "http_unit.h"
#include "inspector/inspector.h"
#include "invocations/async_invocations.h"
#include "invocations/invocation_routes.h"
#include "invocations/result_routes.h"
#include "leases/broker_supply.h"
#include "leases/executor_service.h"
#include "leases/lease_routes.h"
#include "leases/memory_lease_service.h"
#include "leases/placement_routes.h"
#include "listening.h"
#include "pilots/pilot_processes.h"
#include "placement_settings.h"
#include "process_limits.h"
#include "reports/host_routes.h"
#include "server/listener.h"
#include "start_up.h"
#include "system/system_routes.h"
#include "thread_top.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::milliseconds control_tick_interval{50};
constexpr std::chrono::milliseconds last_answers_within{500};

}  // namespace

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

Gateway::Objects::Objects(Config config, StartUp opened)
    : config_(std::move(config)),
      started_(clock_.now()),
      store_(std::move(opened.store)),
      tokens_(own_user(), std::move(opened.state.tokens), config_.socket_users),
      table_(std::make_shared<const FunctionTable>()),
      streams_(config_.event_streams),
      control_([this](Task task) { boost::asio::post(control_io_, std::move(task)); }),
      clusters_(control_io_, clock_, opened.sources,
                [this](const TouchedNodes& nodes) {
                  broker_loop_.make([&](WorkerBroker& broker, MonotonicTime now) {
                    broker.clusters_changed(nodes, now);
                  });
                }),
      broker_({.epoch = opened.state.epoch,
               .boot_id = opened.boot_id,
               .remote_dispatch = true,
               .grows = config_.pilots.automatic,
               .worker_memory = config_.worker_memory,
               .hosts_return_by = clock_.now() + Dispatcher::Options{}.executor_within},
              capacity_options(config_, std::move(opened.policy), clusters_)),
      broker_loop_(control_io_, clock_, broker_),
      leases_(broker_loop_, broker_, config_.leased_workers),
      supply_(
          control_io_, broker_loop_,
          {.boot_id = opened.boot_id,
           .owner = ::geteuid(),
           .dispatch = {.program = config_.dispatch, .socket = config_.state / "dispatch.sock"}}),
      executors_(
          {.control = control_io_,
           .loop = broker_loop_,
           .messages = messages_,
           .leases = leases_,
           .joined =
               [this](const Executor& one, const ControlHello& hello) {
                 supply_.executor_joined(one);
                 data_.executor_joined(one, hello.data);
                 memory_.executor_joined(one, hello.memory);
               }},
          {.epoch = opened.state.epoch, .owner = ::geteuid(), .gateway = opened.state.identity}),
      data_({.loop = broker_loop_, .broker = broker_, .messages = messages_, .send = sender()},
            data_options(config_, opened.state.epoch,
                         [this](uid_t tenant) { return memory_.leases().leased_to(tenant); })),
      memory_(broker_loop_, messages_,
              {.broker = broker_,
               .send = sender(),
               .data_of = [this](uid_t tenant) { return data_.used_by(tenant); }},
              memory_options(config_)),
      host_reports_(broker_loop_, clusters_, ::geteuid()),
      inspector_(control_io_, clock_,
                 {.compiler = config_.compiler, .answer_within = config_.inspect_time}),
      door_(control_io_, config_, std::move(opened.sockets.door)),
      pilots_(control_io_, {.settings = config_.pilots,
                            .orchid = config_.orchid_program,
                            .socket = config_.socket,
                            .state = config_.state}),
      flows_(control_io_, clock_, flow_options(config_), give_in_turn(units_)),
      functions_(
          {*store_, inspector_, table_, clock_, control_},
          {.versions_per_function = config_.versions_per_function, .versions = most_versions()}),
      drained_(static_cast<std::ptrdiff_t>(config_.http_threads)) {
  const KeptVersions kept = functions_.restore(std::move(opened.state.versions));
  build_async();
  build_units();
  build_listeners(std::move(opened.sockets.http));
  restore_invocations(std::move(opened.state.unfinished), kept);
}

void Gateway::Objects::build_async() {
  std::vector<RunnerPort> runners;
  for (unsigned i = 0; i < config_.http_threads; ++i) {
    units_.push_back(std::make_unique<HttpUnit>(i, clock_, supply_, config_.worker_idle_time));
    runners.push_back({units_.back()->poster(), &units_.back()->runner()});
  }
  async_ = std::make_unique<AsyncInvocations>(
      AsyncInvocations::Parts{
          *store_, clock_, control_, std::move(runners),
          [this](placement::WorkerRequest worker) { return broker_.has_supply(std::move(worker)); },
          data_.copies().finder()},
      AsyncInvocations::Options{.limits = {.queued = config_.queued},
                                .keep_finished = config_.keep_finished});
}

void Gateway::Objects::build_units() {
  const std::vector<MakeRoutes> routes = all_routes();
  for (const auto& unit : units_) {
    unit->keep_outputs(
        make_output_keeper({data_, unit->io(), clock_, control_, unit->poster(), closing_}));
    unit->complete({config_, clock_, tokens_, *async_, control_}, routes);
    calls_.push_back({unit->poster(), &unit->calls()});
    http_metrics_.push_back(&unit->thread().metrics());
    call_metrics_.push_back(&unit->calls().metrics());
    dispatch_counts_.push_back(&unit->dispatch_counts());
  }
}

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
                                    data_.copies().finder(), defaults});
      },
      make_routes<ResultRoutes>(*async_, calls_, clock_, control_, streams_),
      [this](const HttpThreadPort& thread) {
        return std::make_unique<FunctionRoutes>(FunctionRoutes::Parts{
            functions_, table_, units_[thread.number]->dispatchers(), thread.here, control_});
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
      make_routes<HostRoutes>(host_reports_),
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
  };
}

void Gateway::Objects::build_listeners(std::vector<ListeningSocket> sockets) {
  for (ListeningSocket& socket : sockets) {
    if (socket.family != AF_UNIX) urls_.push_back(socket.url);
    listeners_.push_back(std::make_unique<Listener>(
        units_[0]->io(), std::move(socket), [this](AcceptedConnection connection) {
          units_[next_unit_]->thread().take(std::move(connection));
          next_unit_ = (next_unit_ + 1) % units_.size();
        }));
  }
}

void Gateway::Objects::restore_invocations(std::vector<InvocationRecord> unfinished,
                                           const KeptVersions& kept) {
  async_->restore(std::move(unfinished),
                  [&kept, table = table_.current()](const InvocationRecord& record) {
                    return version_of(record, *table, kept);
                  });
}

Result<std::unique_ptr<Gateway>> Gateway::create(Config config) {
  auto opened = start_up(config);
  if (!opened) return fail(std::move(opened.error()));
  return std::unique_ptr<Gateway>(
      new Gateway(std::make_unique<Objects>(std::move(config), std::move(*opened))));
}

Gateway::Gateway(std::unique_ptr<Objects> objects) : objects_(std::move(objects)) {}
Gateway::~Gateway() = default;
void Gateway::start() { objects_->start(); }
std::string Gateway::announcement() const { return objects_->announcement(); }
void Gateway::stop() { objects_->stop(); }

void Gateway::Objects::start() {
  store_->start();
  control_thread_ = std::jthread([this] { run_thread("control", [this] { run_control(); }); });
  for (const auto& owned : units_) {
    HttpUnit& unit = *owned;
    unit.dispatchers().add_owner();
    http_threads_.emplace_back([this, &unit] { run_thread("http", [&] { run_http(unit); }); });
  }
  boost::asio::post(units_[0]->io(), [this] {
    for (const auto& listener : listeners_) listener->start();
  });
}

void Gateway::Objects::run_control() {
  functions_.adopt_thread();
  async_->adopt_thread();
  clusters_.start();
  inspector_.start();
  door_.start();
  pilots_.start();
  flows_.start();
  data_.start();
  control_tick();
  const auto guard = boost::asio::make_work_guard(control_io_);
  control_io_.run();
}

void Gateway::Objects::control_tick() {
  async_->tick();
  pilots_.tick(clock_.now());
  flows_.tick();
  control_timer_.expires_after(control_tick_interval);
  control_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) control_tick();
  });
}

void Gateway::Objects::run_http(HttpUnit& unit) {
  unit.run();
  // Calls that still run anywhere may end until the last thread has given up on its own.
  drained_.arrive_and_wait();
  // What the dispatcher cancels now is no outcome of an asynchronous invocation: that runs again
  // after the next start.
  on_control_and_wait([this] { async_->stop(); });
  unit.stop_calls();
  unit.thread().finish(last_answers_within);
}

void Gateway::Objects::on_control_and_wait(const std::function<void()>& work) {
  std::promise<void> done;
  control_([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

std::string Gateway::Objects::announcement() const { return announce(config_, urls_, door_.url()); }

void Gateway::Objects::stop() {
  boost::asio::post(units_[0]->io(), [this] {
    for (const auto& listener : listeners_) listener->stop();
  });
  // Its calls are not waited for: they go on, or run again, after the next start.
  on_control_and_wait([this] { flows_.stop(); });
  control_([this] { async_->drain(); });
  for (const auto& unit : units_) unit->thread().drain(config_.drain_time);
  http_threads_.clear();  // joins
  closing_.finish();
  on_control_and_wait([this] {
    broker_loop_.stop();
    executors_.stop();
    supply_.stop();
    clusters_.stop();
    inspector_.stop();
    door_.stop();
    pilots_.stop();
    control_timer_.cancel();
  });
  control_io_.stop();
  control_thread_.join();
  store_->stop();
  ::unlink(config_.socket.c_str());
  if (!door_.url().empty()) ::unlink(door_socket(config_).c_str());
}

}  // namespace orchid::gateway
