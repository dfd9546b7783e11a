#include "control/capacity_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "clusters/cluster_report.h"
#include "leases/demand_report.h"
#include "leases/placement_report.h"
#include "reports/hosts_document.h"

namespace orchid::gateway {

namespace {

constexpr std::chrono::milliseconds tick_interval{100};

Capacity::Options knowing(const HostKnowledge& clusters, Capacity::Options options) {
  options.knowledge = &clusters;
  return options;
}

}  // namespace

CapacityControl::CapacityControl(boost::asio::io_context& control, const Clock& clock,
                                 Options options)
    : control_(control),
      clock_(clock),
      clusters_(control, clock, options.sources,
                [this](const TouchedNodes& nodes) { clusters_changed(nodes); }),
      broker_(options.broker, knowing(clusters_, std::move(options.capacity))),
      clients_(broker_, options.client_workers),
      boot_id_(options.broker.boot_id),
      owner_(options.owner),
      dispatch_options_(std::move(options.dispatch)),
      gate_(control, std::move(options.gateway), options.broker.epoch, *this),
      timer_(control) {
  on_control([this] { clusters_.start(); });
  tick();
}

CapacityControl::~CapacityControl() = default;

void CapacityControl::on_control(std::function<void()> work) {
  boost::asio::post(control_, [this, work = std::move(work), alive = std::weak_ptr(alive_)] {
    if (alive.expired() || stopped_) return;
    work();
    perform();
  });
}

template <typename Work>
void CapacityControl::on_dispatcher(const Dispatcher& dispatcher, Work work) {
  boost::asio::post(*dispatcher.home, [taker = dispatcher.taker, alive = dispatcher.alive,
                                       work = std::move(work)]() mutable {
    if (!alive.expired()) work(*taker);
  });
}

void CapacityControl::add_dispatcher(HolderId id, LeaseTenant tenant, boost::asio::io_context& home,
                                     WorkerTaker& taker, std::weak_ptr<const void> alive) {
  const uid_t uid = tenant.uid;
  on_control([this, id, tenant = std::move(tenant),
              entry = Dispatcher{uid, &home, &taker, std::move(alive)}]() mutable {
    dispatchers_.insert_or_assign(id, std::move(entry));
    broker_.add_dispatcher(id, std::move(tenant));
  });
}

void CapacityControl::remove_dispatcher(HolderId id) {
  on_control([this, id] {
    forget_dispatcher(id);
    broker_.remove_holder(id, clock_.now());
  });
}

/// With the last one of a tenant goes what that tenant alone has used.
void CapacityControl::forget_dispatcher(HolderId id) {
  const auto found = dispatchers_.find(id);
  if (found == dispatchers_.end()) return;
  const uid_t tenant = found->second.tenant;
  dispatchers_.erase(found);
  if (std::ranges::any_of(dispatchers_,
                          [&](const auto& item) { return item.second.tenant == tenant; }))
    return;
  if (const auto process = dispatch_.find(tenant); process != dispatch_.end()) {
    process->second->stop();
    dispatch_.erase(process);
  }
}

RemoteDispatch& CapacityControl::dispatch_of(uid_t tenant) {
  std::unique_ptr<RemoteDispatch>& process = dispatch_[tenant];
  if (process) return *process;
  RemoteDispatch::Options options = dispatch_options_;
  options.confined = owner_.value_or(tenant) != tenant;
  if (options.confined)
    options.socket.replace_filename(fmt::format("{}-{}{}", options.socket.stem().string(), tenant,
                                                options.socket.extension().string()));
  process = std::make_unique<RemoteDispatch>(control_, std::move(options));
  return *process;
}

void CapacityControl::want_workers(HolderId dispatcher, unsigned total) {
  on_control([this, dispatcher, total] { broker_.want_workers(dispatcher, total, clock_.now()); });
}

void CapacityControl::give_back(HolderId dispatcher, LeaseId lease) {
  on_control([this, dispatcher, lease] { broker_.given_back(dispatcher, lease, clock_.now()); });
}

void CapacityControl::report_hosts(HostsAsked asked, boost::asio::io_context& reply_to,
                                   std::function<void(std::string)> done) {
  on_control([this, asked, &reply_to, done = std::move(done)]() mutable {
    const HostViewer viewer{.uid = asked.viewer,
                            .sees_all = asked.viewer == owner_.value_or(asked.viewer)};
    // Shared, since what is posted has to be copied.
    go_on_with(std::make_shared<HostsDocument>(HostsReport::Parts{.hosts = broker_.hosts(),
                                                                  .leases = broker_.leases(),
                                                                  .capacity = broker_.capacity(),
                                                                  .viewer = viewer,
                                                                  .job = asked.job},
                                               clusters_.states()),
               reply_to, std::move(done));
  });
}

/// What else there is to do comes between its parts. Of a large cluster it is megabytes: whoever
/// asks makes the text.
void CapacityControl::go_on_with(std::shared_ptr<HostsDocument> document,
                                 boost::asio::io_context& reply_to,
                                 std::function<void(std::string)> done) {
  if (document->go_on(clock_.now()))
    return on_control(
        [this, document = std::move(document), &reply_to, done = std::move(done)]() mutable {
          go_on_with(std::move(document), reply_to, std::move(done));
        });
  boost::asio::post(reply_to, [done = std::move(done), report = document->finish(demand())] {
    done(report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  });
}

nlohmann::json CapacityControl::demand() const { return demand_json(broker_.demand()); }

void CapacityControl::report_demand(boost::asio::io_context& reply_to,
                                    std::function<void(std::string)> done) {
  on_control([this, &reply_to, done = std::move(done)]() mutable {
    boost::asio::post(reply_to,
                      [done = std::move(done), text = demand().dump() + "\n"] { done(text); });
  });
}

void CapacityControl::explain(uid_t tenant, LeaseId lease, boost::asio::io_context& reply_to,
                              std::function<void(Result<std::string>)> done) {
  on_control([this, tenant, lease, &reply_to, done = std::move(done)]() mutable {
    auto explanations = broker_.explain(tenant, lease);
    Result<std::string> answer =
        explanations ? Result<std::string>(explanations_json(*explanations, clock_.now()))
                     : fail(std::move(explanations.error()));
    boost::asio::post(reply_to,
                      [done = std::move(done), answer = std::move(answer)] { done(answer); });
  });
}

void CapacityControl::consider(WorkerTerms terms, boost::asio::io_context& reply_to,
                               std::function<void(std::string)> done) {
  on_control([this, terms = std::move(terms), &reply_to, done = std::move(done)]() mutable {
    for (placement::WorkerShape& shape : terms.alternatives)
      if (shape.memory.value == 0) shape.memory = broker_.worker_memory();
    if (terms.boot_id.empty()) terms.boot_id = boot_id_;
    boost::asio::post(
        reply_to, [done = std::move(done),
                   text = findings_json(broker_.consider(terms, clock_.now()))] { done(text); });
  });
}

std::string CapacityControl::metrics() const {
  return clusters_metrics(clusters_.states(), clock_.now());
}

void CapacityControl::clusters_changed(const TouchedNodes& nodes) {
  broker_.clusters_changed(nodes, clock_.now());
  perform();
}

void CapacityControl::open_lease(ClientLeaseRequest request, boost::asio::io_context& reply_to,
                                 ClientLeases::Opened done) {
  on_control([this, request = std::move(request), &reply_to, done = std::move(done)] {
    clients_.open(request, clock_.now(), [&reply_to, done](Result<ClientLeaseView> answer) {
      boost::asio::post(reply_to, [done, answer = std::move(answer)] { done(answer); });
    });
  });
}

void CapacityControl::stop(std::function<void()> done) {
  on_control([this, done = std::move(done)] {
    stopped_ = true;
    timer_.cancel();
    gate_.stop();
    for (const auto& [tenant, process] : dispatch_) process->stop();
    clusters_.stop();
    done();
  });
}

void CapacityControl::perform() {
  // An action can lead to further ones, so until none is left.
  for (auto actions = broker_.take_actions(); !actions.empty(); actions = broker_.take_actions())
    for (const BrokerAction& action : actions) perform_one(action);
}

/// True: the action concerned a client's lease.
bool CapacityControl::tell_client(const BrokerAction& action) {
  if (const auto* give = std::get_if<GiveWorker>(&action))
    return clients_.granted(give->holder, give->grant, clock_.now());
  if (const auto* ended = std::get_if<TellLeaseEnded>(&action))
    return clients_.ended(*ended, clock_.now());
  return false;
}

/// For a dispatcher: it speaks to workers of this host only, to others through orchid-dispatch.
WorkerGrant CapacityControl::reachable(WorkerGrant grant, const Dispatcher& dispatcher) {
  if (grant.boot_id == boot_id_) {
    grant.lane_address.clear();
    return grant;
  }
  RemoteDispatch& process = dispatch_of(dispatcher.tenant);
  if (!process.socket().empty()) process.start();
  grant.lane_socket = process.socket();
  return grant;
}

void CapacityControl::perform_one(const BrokerAction& action) {
  if (tell_client(action)) return;
  const auto tell = [this](HolderId id, auto work) {
    if (const auto found = dispatchers_.find(id); found != dispatchers_.end())
      on_dispatcher(found->second, std::move(work));
  };
  if (const auto* send = std::get_if<SendToExecutor>(&action)) {
    ControlMessage message = send->message;
    // Ours we claim ourselves, for whomever they are.
    if (auto* opening = std::get_if<OpenLease>(&message); opening != nullptr && !opening->client)
      opening->holder_uid = owner_;
    gate_.send(send->executor, std::move(message));
  } else if (const auto* forget = std::get_if<ForgetExecutor>(&action)) {
    gate_.forget(forget->executor);
  } else if (const auto* give = std::get_if<GiveWorker>(&action)) {
    if (const auto found = dispatchers_.find(give->holder); found != dispatchers_.end())
      on_dispatcher(found->second, [grant = reachable(give->grant, found->second)](
                                       WorkerTaker& taker) { taker.worker_granted(grant); });
  } else if (const auto* back = std::get_if<AskBack>(&action)) {
    tell(back->holder,
         [back = *back](WorkerTaker& taker) { taker.workers_asked_back(back.count, back.where); });
  } else if (const auto* ended = std::get_if<TellLeaseEnded>(&action)) {
    tell(ended->holder, [lease = ended->lease](WorkerTaker& taker) { taker.lease_ended(lease); });
  } else if (const auto* refused = std::get_if<TellRefused>(&action)) {
    tell(refused->holder,
         [lease = refused->lease](WorkerTaker& taker) { taker.worker_refused(lease); });
  } else if (const auto* supply = std::get_if<TellSupply>(&action)) {
    tell(supply->holder,
         [exists = supply->exists](WorkerTaker& taker) { taker.supply_exists(exists); });
  } else if (const auto* answers = std::get_if<TellExecutorAnswers>(&action)) {
    for (const auto& [id, dispatcher] : dispatchers_)
      on_dispatcher(dispatcher, [executor = answers->executor, yes = answers->answers](
                                    WorkerTaker& taker) { taker.executor_answers(executor, yes); });
  }
}

void CapacityControl::tick() {
  timer_.expires_after(tick_interval);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code error) {
    if (error || alive.expired() || stopped_) return;
    broker_.tick(clock_.now());
    perform();
    clients_.tick(clock_.now());
    perform();
    tick();
  });
}

void CapacityControl::executor_joined(const ControlHello& hello, const PeerIdentity& identity) {
  const MonotonicTime now = clock_.now();
  Executor executor{
      .id = ExecutorId(hello.executor),
      .owner = identity,
      .host = hello.host,
      .grant = owner_ ? believed(hello.grant, identity.tenant.uid, *owner_) : hello.grant,
      .ends = hello.grant.ends_in ? now + *hello.grant.ends_in : MonotonicTime::max(),
      .version = hello.version,
      .lane_socket = hello.lane_socket,
      .lane_address = hello.lane_address};
  std::vector<LeaseHeld> held = hello.held;
  if (owner_ && identity.tenant.uid != *owner_) {
    // What it says of a host it may not say of that of others; nor whose leases it has.
    executor.host.boot_id = std::to_string(identity.tenant.uid) + ":" + executor.host.boot_id;
    std::erase_if(held, [&](const LeaseHeld& one) {
      return one.tenant.uid != static_cast<std::uint32_t>(identity.tenant.uid);
    });
  }
  // Once: to find a name may take a while.
  if (executor.grant.owner) executor.granted_by = user_name(*executor.grant.owner);
  // Ahead of the first call; other tenants' ones come with their first worker there.
  if (owner_ && executor.host.boot_id != boot_id_ && !executor.lane_address.empty() &&
      !dispatch_options_.socket.empty())
    dispatch_of(*owner_).start();
  broker_.executor_joined(executor, clients_.adopt(held, executor, now), now);
  perform();
}

void CapacityControl::executor_resumed(const ExecutorId& id) {
  broker_.executor_resumed(id, clock_.now());
  perform();
}

void CapacityControl::executor_lost(const ExecutorId& id) {
  broker_.executor_lost(id, clock_.now());
  perform();
}

void CapacityControl::executor_said(const ExecutorId& id, const ControlMessage& message) {
  broker_.executor_said(id, message, clock_.now());
  perform();
}

}  // namespace orchid::gateway
