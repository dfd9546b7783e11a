#include "leases/broker_supply.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace orchid::gateway {

BrokerSupply::BrokerSupply(boost::asio::io_context& control, BrokerLoop& loop, Options options)
    : control_(control), loop_(loop), options_(std::move(options)) {
  loop.add(*this);
}

void BrokerSupply::add_dispatcher(HolderId id, LeaseTenant tenant, Poster home, WorkerTaker& taker,
                                  std::weak_ptr<const void> alive,
                                  placement::WorkerRequest worker) {
  const uid_t uid = tenant.uid;
  loop_.post([this, id, tenant = std::move(tenant), worker = std::move(worker),
              entry = Dispatcher{uid, std::move(home), &taker, std::move(alive)}](
                 WorkerBroker& broker, MonotonicTime) mutable {
    dispatchers_.insert_or_assign(id, std::move(entry));
    broker.add_dispatcher(id, std::move(tenant), std::move(worker));
  });
}

void BrokerSupply::remove_dispatcher(HolderId id) {
  loop_.post([this, id](WorkerBroker& broker, MonotonicTime now) {
    forget_dispatcher(id);
    broker.remove_holder(id, now);
  });
}

void BrokerSupply::want_workers(HolderId dispatcher, unsigned total) {
  loop_.post([dispatcher, total](WorkerBroker& broker, MonotonicTime now) {
    broker.want_workers(dispatcher, total, now);
  });
}

void BrokerSupply::spare_worker(HolderId dispatcher) {
  loop_.post([dispatcher](WorkerBroker& broker, MonotonicTime now) {
    broker.spare_worker(dispatcher, now);
  });
}

void BrokerSupply::give_back(HolderId dispatcher, LeaseId lease) {
  loop_.post([dispatcher, lease](WorkerBroker& broker, MonotonicTime now) {
    broker.given_back(dispatcher, lease, now);
  });
}

/// With the last one of a tenant goes what that tenant alone has used.
void BrokerSupply::forget_dispatcher(HolderId id) {
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

RemoteDispatch& BrokerSupply::dispatch_of(uid_t tenant) {
  std::unique_ptr<RemoteDispatch>& process = dispatch_[tenant];
  if (process) return *process;
  RemoteDispatch::Options options = options_.dispatch;
  options.confined = options_.owner.value_or(tenant) != tenant;
  if (options.confined)
    options.socket.replace_filename(fmt::format("{}-{}{}", options.socket.stem().string(), tenant,
                                                options.socket.extension().string()));
  process = std::make_unique<RemoteDispatch>(control_, std::move(options));
  return *process;
}

void BrokerSupply::executor_joined(const Executor& executor) {
  // Other tenants' processes come with their first worker there.
  if (options_.owner && executor.host.boot_id != options_.boot_id &&
      !executor.lane_address.empty() && !options_.dispatch.socket.empty())
    dispatch_of(*options_.owner).start();
}

void BrokerSupply::stop() {
  for (const auto& [tenant, process] : dispatch_) process->stop();
}

/// For a dispatcher: it speaks to workers of this host only, to others through orchid-dispatch.
WorkerGrant BrokerSupply::reachable(WorkerGrant grant, const Dispatcher& dispatcher) {
  if (grant.boot_id == options_.boot_id) {
    grant.lane_address.clear();
    return grant;
  }
  RemoteDispatch& process = dispatch_of(dispatcher.tenant);
  if (!process.socket().empty()) process.start();
  grant.lane_socket = process.socket();
  return grant;
}

template <typename Work>
void BrokerSupply::tell(const Dispatcher& dispatcher, Work work) {
  dispatcher.home(
      [taker = dispatcher.taker, alive = dispatcher.alive, work = std::move(work)]() mutable {
        if (!alive.expired()) work(*taker);
      });
}

template <typename Work>
void BrokerSupply::tell(HolderId id, Work work) {
  if (const auto found = dispatchers_.find(id); found != dispatchers_.end())
    tell(found->second, std::move(work));
}

bool BrokerSupply::perform(const BrokerAction& action) {
  if (const auto* give = std::get_if<GiveWorker>(&action)) {
    if (const auto found = dispatchers_.find(give->holder); found != dispatchers_.end())
      tell(found->second, [grant = reachable(give->grant, found->second)](WorkerTaker& taker) {
        taker.worker_granted(grant);
      });
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
         [supply = supply->supply](WorkerTaker& taker) { taker.supply_is(supply); });
  } else if (const auto* answers = std::get_if<TellExecutorAnswers>(&action)) {
    for (const auto& [id, dispatcher] : dispatchers_)
      tell(dispatcher, [executor = answers->executor, yes = answers->answers](WorkerTaker& taker) {
        taker.executor_answers(executor, yes);
      });
    return false;  // others look at it, too
  } else {
    return false;
  }
  return true;
}

}  // namespace orchid::gateway
