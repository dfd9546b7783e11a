#include "http_unit.h"

#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace orchid::gateway {
namespace {

std::string own_architecture() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "x86_64";
}

std::size_t share(std::size_t total, unsigned threads) { return (total + threads - 1) / threads; }

}  // namespace

HttpUnit::HttpUnit(std::size_t index, const Clock& clock, BrokerSupply& supply,
                   std::chrono::milliseconds worker_idle_time)
    : index_(index),
      dispatchers_(io_, clock, supply,
                   {.add =
                        [this, &supply](HolderId id, uid_t tenant, placement::WorkerRequest worker,
                                        Dispatcher& dispatcher) {
                          supply.add_dispatcher(id, {tenant, user_name(tenant)}, poster(),
                                                dispatcher, dispatcher.alive(), std::move(worker));
                        },
                    .remove = [&supply](HolderId id) { supply.remove_dispatcher(id); }},
                   {.owner = ::geteuid(),
                    .usual = {.images = {own_architecture()}},
                    .thread = index,
                    .each = {.give_back_after = worker_idle_time, .counts = &dispatch_counts_}}),
      following_(dispatchers_, clock),
      limited_(following_, clock, poster()),
      keeping_(limited_) {}

void HttpUnit::stop_calls() {
  limited_.stop();
  following_.stop();
  dispatchers_.stop();
}

void HttpUnit::complete(const Shared& shared, std::span<const MakeRoutes> routes) {
  const Config& config = shared.config;
  calls_ = std::make_unique<SyncCalls>(
      SyncCalls::Parts{keeping_, shared.async, shared.clock, poster(), shared.control},
      SyncCalls::Options{.home = static_cast<InvocationHome>(index_ + 1),
                         .in_flight = share(config.in_flight, config.http_threads),
                         .recent = {}});
  thread_ = std::make_unique<HttpThread>(
      HttpThread::Parts{.io = io_,
                        .router = router_,
                        .tokens = shared.tokens,
                        .runner = dispatchers_,
                        .clock = shared.clock,
                        .sweep =
                            [this] {
                              calls_->sweep();
                              limited_.sweep();
                              following_.sweep();
                              dispatchers_.sweep();
                            },
                        .is_idle =
                            [this] {
                              return dispatchers_.live_calls() == 0 && following_.waiting() == 0 &&
                                     limited_.waiting() == 0;
                            },
                        .by_cookie = shared.by_cookie},
      HttpThread::Options{.limits = {.header_bytes = config.header_bytes,
                                     .header_time = config.header_time,
                                     .body_time = config.body_time,
                                     .idle_time = config.idle_time,
                                     .write_time = config.write_time,
                                     .event_pause = config.event_pause},
                          .connections = share(config.connections, config.http_threads),
                          .body_memory = {config.body_memory.value / config.http_threads}});
  for (const MakeRoutes& make : routes) {
    routes_.push_back(make({.number = index_, .here = poster()}));
    routes_.back()->add_to(router_);
  }
}

void HttpUnit::run() {
  calls_->adopt_thread();
  thread_->run();
}

TakeFlowConnection give_in_turn(const std::vector<std::unique_ptr<HttpUnit>>& units) {
  return [&units, next = std::size_t{0}](UniqueFd socket, const Tenant& tenant) mutable {
    units[next]->thread().take({.socket = std::move(socket),
                                .family = AF_UNIX,
                                .peer_uid = std::nullopt,
                                .tenant = tenant});
    next = (next + 1) % units.size();
  };
}

}  // namespace orchid::gateway
