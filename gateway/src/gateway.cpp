#include "gateway.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdlib>
#include <future>
#include <latch>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "clusters/cluster_report.h"
#include "clusters/configured_sources.h"
#include "foundation/clock.h"
#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "foundation/log.h"
#include "foundation/tcp.h"
#include "http_unit.h"
#include "inspector/inspector.h"
#include "invocations/async_invocations.h"
#include "placement/policy_library.h"
#include "processes/kept_process.h"
#include "server/listener.h"
#include "store/store.h"
#include "token_files.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::milliseconds control_tick_interval{50};
constexpr std::chrono::seconds look_for_pilots_every{2};
constexpr std::chrono::milliseconds last_answers_within{500};

Tenant owner() { return {::geteuid(), user_name(::geteuid())}; }

std::filesystem::path door_socket(const Config& config) { return config.state / "door.sock"; }

Result<std::vector<ListeningSocket>> listen_all(const Config& config) {
  std::vector<ListeningSocket> sockets;
  for (const std::string& address : config.listen) {
    auto socket = listen_tcp(address);
    if (!socket && socket.error().code == ErrorCode::unsupported) {
      log::warn("event=not_listening reason=\"{}\"", socket.error().message);
      continue;
    }
    if (!socket) return fail(std::move(socket.error()));
    sockets.push_back(std::move(*socket));
  }
  auto local = listen_unix(config.socket, config.socket_users == SocketUsers::everybody
                                              ? UnixPeers::anybody_by_uid
                                              : UnixPeers::by_uid);
  if (!local) return fail(std::move(local.error()));
  sockets.push_back(std::move(*local));
  if (config.door_listen.empty()) return sockets;
  // The door's clients are not its user: they need a token here as anywhere.
  auto door = listen_unix(door_socket(config), UnixPeers::by_token);
  if (!door) return fail(std::move(door.error()));
  sockets.push_back(std::move(*door));
  return sockets;
}

/// Where orchid-door accepts clients; nothing when there is no door.
Result<std::optional<TcpListener>> listen_for_door(const Config& config) {
  if (config.door_listen.empty()) return std::optional<TcpListener>{};
  auto listener = orchid::listen_tcp(config.door_listen);
  if (!listener) return fail(std::move(listener.error()).while_doing("door_listen"));
  return std::optional<TcpListener>(std::move(*listener));
}

KeptProcess::Options door_options(const Config& config) {
  return {.name = "door",
          .program = config.door_program,
          .arguments = {"--listen", std::to_string(server_socket_number), "--gateway",
                        door_socket(config).string(), "--clients",
                        std::to_string(config.door_clients)}};
}

Result<std::string> read_boot_id() {
  auto content = read_file("/proc/sys/kernel/random/boot_id", 4_KiB);
  if (!content) return fail(std::move(content.error()));
  std::string id(as_text(*content));
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

/// Each takes a descriptor, and others are needed too.
std::size_t most_versions() {
  rlimit limit{};
  const std::size_t most = FunctionRegistry::Limits{}.versions;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return most;
  return std::min<std::size_t>(most, limit.rlim_cur / 2);
}

/// The top of each thread: what escapes here is a defect, and ends the process rather than leaving
/// it half alive.
template <typename Body>
void run_thread(std::string_view name, Body body) noexcept {
  try {
    body();
  } catch (const std::exception& error) {
    log::error("event=thread_failed thread={} reason=\"{}\"", name, error.what());
    std::abort();
  }
}

/// One of ours by its name, or a site's by the path of its library.
Result<std::unique_ptr<placement::Policy>> placement_policy(const std::string& name) {
  return name.contains('/') ? placement::load_policy(name) : placement::make_policy(name);
}

Capacity::Options capacity_options(const Config& config, std::unique_ptr<placement::Policy> policy,
                                   const HostKnowledge& clusters) {
  Capacity::Options options{.policy = std::move(policy),
                            .knowledge = &clusters,
                            .cores_per_user = config.placement_cores_per_user,
                            .fair_share_half_life = config.placement_fair_share_half_life};
  if (config.placement_watts_per_host != 0)
    options.watts_per_host = config.placement_watts_per_host;
  options.watts_per_core = config.placement_watts_per_core;
  for (const auto& [name, tenant] : config.tenants)
    options.tenants[name] = {
        .quota = {.cores = tenant.cores, .gpus = tenant.gpus, .leases = tenant.leases},
        .weight = tenant.weight};
  return options;
}

}  // namespace

/// All objects of the process, in the order in which they are built, and its threads.
class Gateway::Objects {
 public:
  /// What can fail, done before anything is built.
  struct Opened {
    std::unique_ptr<Store> store;
    StartUpState state;
    std::vector<ListeningSocket> sockets;
    std::optional<TcpListener> door;
    std::string boot_id;
    std::unique_ptr<placement::Policy> policy;
    std::vector<CapacitySource::Options> sources;
  };
  Objects(Config config, Opened opened);
  void start();
  [[nodiscard]] std::string announcement() const;
  void stop();

 private:
  using KeptVersions = std::map<std::string, std::shared_ptr<const FunctionVersion>>;
  void build_async();
  void build_units();
  void build_listeners(std::vector<ListeningSocket> sockets);
  void restore_invocations(std::vector<InvocationRecord> unfinished, const KeptVersions& kept);
  void run_control();
  void run_http(HttpUnit& unit);
  void control_tick();
  void guard_pilots();
  void on_control_and_wait(const std::function<void()>& work);

  Config config_;
  SystemClock clock_;
  MonotonicTime started_;
  std::unique_ptr<Store> store_;
  TokenBook tokens_;
  Published<FunctionTable> table_;
  std::vector<std::string> urls_;

  boost::asio::io_context control_io_{1};
  boost::asio::steady_timer control_timer_{control_io_};
  Poster control_;
  Clusters clusters_;
  WorkerBroker broker_;
  BrokerLoop broker_loop_;
  LeaseService leases_;
  BrokerSupply supply_;
  ExecutorService executors_;
  HostReports host_reports_;
  Inspector inspector_;
  KeptProcess door_;
  KeptProcess pilot_keeper_;
  KeptProcess pilot_guard_;  // from the first pilot on
  MonotonicTime pilots_looked_for_;
  std::optional<TcpListener> door_listener_;  // until the process has it
  std::string door_url_;                      // empty: there is no door
  FunctionService functions_;
  std::vector<std::unique_ptr<HttpUnit>> units_;
  std::unique_ptr<AsyncInvocations> async_;
  std::vector<CallsPort> calls_;
  std::vector<const ThreadMetrics*> metrics_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::size_t next_unit_ = 0;  // of the first HTTP thread, which accepts

  std::latch drained_;
  std::vector<std::jthread> http_threads_;
  std::jthread control_thread_;
};

Result<std::unique_ptr<Gateway>> Gateway::create(Config config) {
  Objects::Opened opened;
  auto store = Store::open(config.state);
  if (!store) return fail(std::move(store.error()).while_doing("opening the state directory"));
  opened.store = std::move(*store);
  auto state = opened.store->load();
  if (!state) return fail(std::move(state.error()).while_doing("loading the state"));
  opened.state = std::move(*state);
  if (auto ensured = ensure_tokens(*opened.store, config, owner(), opened.state.tokens); !ensured)
    return fail(std::move(ensured.error()).while_doing("making tokens"));
  auto sockets = listen_all(config);
  if (!sockets) return fail(std::move(sockets.error()));
  opened.sockets = std::move(*sockets);
  auto door = listen_for_door(config);
  if (!door) return fail(std::move(door.error()));
  opened.door = std::move(*door);
  auto boot_id = read_boot_id();
  if (!boot_id) return fail(std::move(boot_id.error()));
  opened.boot_id = std::move(*boot_id);
  auto policy = placement_policy(config.placement_policy);
  if (!policy) return fail(std::move(policy.error()).while_doing("placement_policy"));
  opened.policy = std::move(*policy);
  auto sources = configured_sources({.sources = config.sources,
                                     .slurm_program = config.slurm_program,
                                     .slurm_requests_per_minute = config.slurm_requests_per_minute,
                                     .slurm_interval = config.slurm_interval,
                                     .slurm_dpu_features = config.slurm_dpu_features},
                                    slurm_is_configured());
  if (!sources) return fail(std::move(sources.error()));
  opened.sources = std::move(*sources);
  return std::unique_ptr<Gateway>(
      new Gateway(std::make_unique<Objects>(std::move(config), std::move(opened))));
}

Gateway::Objects::Objects(Config config, Opened opened)
    : config_(std::move(config)),
      started_(clock_.now()),
      store_(std::move(opened.store)),
      tokens_(owner(), std::move(opened.state.tokens), config_.socket_users),
      table_(std::make_shared<const FunctionTable>()),
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
               .worker_memory = config_.worker_memory},
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
           .leases = leases_,
           .joined = [this](const Executor& one) { supply_.executor_joined(one); }},
          {.epoch = opened.state.epoch, .owner = ::geteuid(), .gateway = opened.state.identity}),
      host_reports_(broker_loop_, clusters_, ::geteuid()),
      inspector_(control_io_, clock_,
                 {.compiler = config_.compiler, .answer_within = config_.inspect_time}),
      door_(control_io_, door_options(config_)),
      pilot_keeper_(control_io_, pilot_keeper(config_.pilots, config_.orchid_program,
                                              config_.socket, config_.state)),
      pilot_guard_(control_io_, pilot_guard(config_.pilots, config_.orchid_program, config_.state)),
      door_listener_(std::move(opened.door)),
      door_url_(door_listener_ ? "ucx://" + door_listener_->address : ""),
      functions_(
          {*store_, inspector_, table_, clock_, control_},
          {.versions_per_function = config_.versions_per_function, .versions = most_versions()}),
      drained_(static_cast<std::ptrdiff_t>(config_.http_threads)) {
  const KeptVersions kept = functions_.restore(std::move(opened.state.versions));
  build_async();
  build_units();
  build_listeners(std::move(opened.sockets));
  restore_invocations(std::move(opened.state.unfinished), kept);
}

void Gateway::Objects::build_async() {
  std::vector<RunnerPort> runners;
  for (unsigned i = 0; i < config_.http_threads; ++i) {
    units_.push_back(std::make_unique<HttpUnit>(i, clock_, supply_, config_.worker_idle_time));
    runners.push_back({units_.back()->poster(), &units_.back()->runner()});
  }
  async_ = std::make_unique<AsyncInvocations>(
      AsyncInvocations::Parts{*store_, clock_, control_, std::move(runners),
                              [this] { return broker_.has_supply(); }},
      AsyncInvocations::Options{.limits = {.queued = config_.queued},
                                .keep_finished = config_.keep_finished});
}

void Gateway::Objects::build_units() {
  auto control_status = [this] {
    return ControlStatus{.inspector_up = inspector_.is_up(),
                         .executors_connected = broker_.hosts().connected(),
                         .inspector_restarts = inspector_.restarts(),
                         .async_queued = async_->queued_count(),
                         .async_running = async_->running_count(),
                         .more_metrics = clusters_metrics(clusters_.states(), clock_.now())};
  };
  const SharedParts shared{config_,           clock_,   started_,       tokens_, table_,
                           functions_,        *async_,  broker_loop_,   leases_, host_reports_,
                           executors_.gate(), control_, control_status, calls_,  metrics_};
  for (const auto& unit : units_) {
    unit->complete(shared);
    calls_.push_back({unit->poster(), &unit->calls()});
    metrics_.push_back(&unit->thread().metrics());
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
  const auto table = table_.current();
  auto find_version =
      [&](const InvocationRecord& record) -> std::shared_ptr<const FunctionVersion> {
    if (const Function* function = table->find(record.tenant, record.function))
      for (const DeployedVersion& version : function->versions)
        if (version.version->digest == record.digest) return version.version;
    const auto old = kept.find(record.digest);
    return old == kept.end() ? nullptr : old->second;
  };
  async_->restore(std::move(unfinished), find_version);
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
  if (door_listener_) door_.start(std::move(door_listener_->socket));
  if (config_.pilots.automatic) pilot_keeper_.start();
  control_tick();
  const auto guard = boost::asio::make_work_guard(control_io_);
  control_io_.run();
}

/// Whoever starts pilots leaves a mark in our state directory. One look at a file on a disk without
/// which nothing goes on here.
void Gateway::Objects::guard_pilots() {
  const MonotonicTime now = clock_.now();
  if (pilot_guard_.is_wanted() || now - pilots_looked_for_ < look_for_pilots_every) return;
  pilots_looked_for_ = now;
  if (has_had_pilots(config_.state)) pilot_guard_.start();
}

void Gateway::Objects::control_tick() {
  async_->tick();
  guard_pilots();
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

std::string Gateway::Objects::announcement() const {
  return nlohmann::ordered_json{{"pid", ::getpid()},
                                {"version", ORCHID_VERSION},
                                {"host", own_host_name()},
                                {"boot_id", own_boot_id()},
                                {"urls", urls_},
                                {"door", door_url_},
                                {"socket", config_.socket.string()},
                                {"state", config_.state.string()},
                                {"token_file", (config_.state / "token").string()}}
             .dump() +
         "\n";
}

void Gateway::Objects::stop() {
  boost::asio::post(units_[0]->io(), [this] {
    for (const auto& listener : listeners_) listener->stop();
  });
  control_([this] { async_->drain(); });
  for (const auto& unit : units_) unit->thread().drain(config_.drain_time);
  http_threads_.clear();  // joins
  on_control_and_wait([this] {
    broker_loop_.stop();
    executors_.stop();
    supply_.stop();
    clusters_.stop();
    inspector_.stop();
    door_.stop();
    pilot_keeper_.stop();
    pilot_guard_.stop();
    control_timer_.cancel();
  });
  control_io_.stop();
  control_thread_.join();
  store_->stop();
  ::unlink(config_.socket.c_str());
  if (!door_url_.empty()) ::unlink(door_socket(config_).c_str());
}

}  // namespace orchid::gateway
