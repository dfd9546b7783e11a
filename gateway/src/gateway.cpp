#include "gateway.h"

#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <future>

#include "data/data_keeper.h"
#include "data_settings.h"
#include "foundation/log.h"
#include "foundation/posts_together.h"
#include "gateway_objects.h"
#include "page/session_file.h"
#include "placement_settings.h"
#include "process_limits.h"
#include "thread_top.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::milliseconds control_tick_interval{50};
constexpr std::chrono::milliseconds last_answers_within{500};
constexpr const char* page_sessions_file = "page-sessions.json";

}  // namespace

Gateway::Objects::Objects(Config config, StartUp opened)
    : config_(std::move(config)),
      started_(clock_.now()),
      store_(std::move(opened.store)),
      tokens_(own_user(), std::move(opened.state.tokens), config_.socket_users),
      table_(std::make_shared<const FunctionTable>()),
      streams_(config_.event_streams),
      page_hosts_(config_.page_hosts),
      page_sessions_(tokens_, clock_, {.session_time = config_.page_session_time},
                     save_sessions_in(config_.state / page_sessions_file, closing_)),
      page_gate_(page_hosts_, page_sessions_),
      control_(PostsTogether::together(
          [this](Task task) { boost::asio::post(control_io_, std::move(task)); })),
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
      data_({.loop = broker_loop_,
             .broker = broker_,
             .messages = messages_,
             .send = sender(),
             .start_far_end = far_ends(control_io_, config_.copy_program)},
            data_options(config_, opened.state.epoch,
                         [this](uid_t tenant) { return memory_.leases().leased_to(tenant); })),
      memory_(broker_loop_, messages_,
              {.broker = broker_,
               .send = sender(),
               .data_of = [this](uid_t tenant) { return data_.used_by(tenant); }},
              memory_options(config_)),
      host_reports_(broker_loop_, clusters_, ::geteuid()),
      utilisation_(broker_loop_, clock_),
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
  restore_sessions(page_sessions_, config_.state / page_sessions_file);
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
          data_.copies().finder(), cluster_check()},
      AsyncInvocations::Options{.limits = {.queued = config_.queued},
                                .keep_finished = config_.keep_finished});
  broker_.ask_for_kept_back([this] { return async_->kept_back(); });
}

/// For calls of the thread that `here` posts to.
FollowingRunner::Find Gateway::Objects::find_for(Poster here) {
  return [this, here = std::move(here)](uid_t tenant, std::string names,
                                        placement::WorkerRequest worker, auto done) {
    control_([this, here, tenant, names = std::move(names), worker = std::move(worker),
              done = std::move(done)]() mutable {
      here([done = std::move(done),
            data = data_.copies().for_call(tenant, names, worker)]() mutable {
        done(std::move(data));
      });
    });
  };
}

void Gateway::Objects::build_units() {
  const std::vector<MakeRoutes> routes = all_routes();
  for (const auto& unit : units_) {
    unit->keep_outputs(
        make_output_keeper({data_, unit->io(), clock_, control_, unit->poster(), closing_}));
    unit->find_data(find_for(unit->poster()));
    unit->complete({config_, clock_, tokens_, *async_, control_,
                    [this](const Request& request) { return page_gate_.judge(request); }},
                   routes);
    calls_.push_back({unit->poster(), &unit->calls()});
    http_metrics_.push_back(&unit->thread().metrics());
    call_metrics_.push_back(&unit->calls().metrics());
    dispatch_counts_.push_back(&unit->dispatch_counts());
  }
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
  // Those of a user who is no tenant now stay in the store, in case that the user comes back.
  const std::size_t left = std::erase_if(unfinished, [this](const InvocationRecord& record) {
    return !tokens_.is_tenant(record.tenant);
  });
  if (left > 0) log::info("event=invocations_left count={} reason=\"no tenant any more\"", left);
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
  flows_.start([this](uid_t uid) { return tokens_.is_tenant(uid); });
  data_.start();
  control_tick();
  const auto guard = boost::asio::make_work_guard(control_io_);
  control_io_.run();
}

void Gateway::Objects::control_tick() {
  async_->tick();
  pilots_.tick(clock_.now());
  flows_.tick();
  utilisation_.tick();
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
