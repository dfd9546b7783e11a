#include "dispatcher/dispatchers_by_tenant.h"

#include <algorithm>
#include <utility>

namespace orchid::gateway {
DispatchersByTenant::DispatchersByTenant(boost::asio::io_context& io, const Clock& clock,
                                         WorkerSupply& supply, Registry registry, Options options)
    : io_(io), clock_(clock), supply_(supply), registry_(std::move(registry)), options_(options) {}

Dispatcher& DispatchersByTenant::of(KeyView calls, std::shared_ptr<const WorkerNeeds> needs) {
  calls.needs = needs == nullptr ? 0 : needs->number;
  auto found = dispatchers_.find(calls);
  if (found == dispatchers_.end())
    found = dispatchers_.emplace(Key{calls.tenant, calls.place, calls.hosts, calls.needs}, Entry{})
                .first;
  Entry& entry = found->second;
  entry.used = clock_.now();
  if (entry.dispatcher) return *entry.dispatcher;
  // Never the same for two, on whatever threads, also when tenants come and go.
  entry.id = HolderId{next_++ * most_threads + options_.thread + 1};
  Dispatcher::Options each = options_.each;
  each.id = entry.id;
  entry.dispatcher = std::make_unique<Dispatcher>(io_, clock_, supply_, each);
  entry.needs = std::move(needs);
  registry_.add(entry.id, calls.tenant, worker_for(entry.needs.get(), calls.hosts, calls.place),
                *entry.dispatcher);
  return *entry.dispatcher;
}

void DispatchersByTenant::start(Call call, CallDone done) {
  CallPlace place{.kind = call.kind, .device = call.device, .cluster = call.cluster};
  if (call.data != nullptr) place.data_at = call.data->at;
  Dispatcher& dispatcher =
      of({call.tenant, place, call.version->hosts}, call.version->worker_needs());
  dispatcher.start(std::move(call), std::move(done));
}

void DispatchersByTenant::expect(uid_t tenant,
                                 const std::shared_ptr<const FunctionVersion>& version) {
  of({tenant, {}, version->hosts}, version->worker_needs()).expect(tenant, version);
}

void DispatchersByTenant::warm(uid_t tenant, const std::shared_ptr<const FunctionVersion>& version,
                               const CallPlace& place) {
  of({tenant, place, version->hosts}, version->worker_needs()).warm(tenant, version, place);
}

void DispatchersByTenant::cancel(const std::string& invocation) {
  // Whose it is does not matter: one of them knows it, or none.
  for (const auto& [key, entry] : dispatchers_) entry.dispatcher->cancel(invocation);
}

RunningLog DispatchersByTenant::running_log(const std::string& invocation) const {
  for (const auto& [key, entry] : dispatchers_)
    if (RunningLog log = entry.dispatcher->running_log(invocation);
        !log.text.empty() || log.dropped != 0)
      return log;
  return {};
}

std::optional<double> DispatchersByTenant::running_progress(const std::string& invocation) const {
  for (const auto& [key, entry] : dispatchers_)
    if (const auto progress = entry.dispatcher->running_progress(invocation)) return progress;
  return std::nullopt;
}

bool DispatchersByTenant::poll() {
  bool any = false;
  for (const auto& [key, entry] : dispatchers_) any = entry.dispatcher->poll() || any;
  return any;
}

bool DispatchersByTenant::expects_answer_soon() const {
  return std::ranges::any_of(
      dispatchers_, [](const auto& item) { return item.second.dispatcher->expects_answer_soon(); });
}

bool DispatchersByTenant::prepare_to_sleep() {
  for (const auto& [key, entry] : dispatchers_)
    if (!entry.dispatcher->prepare_to_sleep()) {
      finish_sleep();
      return false;
    }
  return true;
}

void DispatchersByTenant::finish_sleep() {
  for (const auto& [key, entry] : dispatchers_) entry.dispatcher->finish_sleep();
}

void DispatchersByTenant::sweep() {
  if (dispatchers_.size() < 2) return;
  const MonotonicTime now = clock_.now();
  for (auto& [key, entry] : dispatchers_)
    if (entry.dispatcher->live_calls() > 0 || entry.dispatcher->workers() > 0) entry.used = now;
  std::erase_if(dispatchers_, [&](const auto& item) {
    const auto& [key, entry] = item;
    const bool is_usual = key.tenant == options_.owner && key.place == CallPlace{} &&
                          key.hosts == options_.usual && key.needs == 0;
    if (is_usual || now - entry.used < options_.forget_after) return false;
    registry_.remove(entry.id);
    return true;
  });
}

void DispatchersByTenant::stop() {
  for (const auto& [key, entry] : dispatchers_) entry.dispatcher->stop();
}

std::size_t DispatchersByTenant::live_calls() const {
  std::size_t calls = 0;
  for (const auto& [key, entry] : dispatchers_) calls += entry.dispatcher->live_calls();
  return calls;
}

}  // namespace orchid::gateway
