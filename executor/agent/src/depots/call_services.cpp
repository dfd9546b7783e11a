#include "depots/call_services.h"

#include "foundation/log.h"

namespace orchid::executor {

void serve_calls(DepotPool& depots, const CallServices& services, WorkerPool& workers) {
  const auto asked = [&depots, services](Depot& depot, const DepotAsked& message) {
    // When there is an answer, the depot may be another one.
    const auto answer = [&depots, uid = depot.tenant().uid, worker = message.worker](
                            const ServiceAnswer& said, int descriptor) {
      if (Depot* now = depots.find(uid)) now->answer({worker, said}, descriptor);
    };
    switch (message.request.ask) {
      case ServiceAsk::open_memory:
        return services.memory.ask(depot.tenant(), message.worker, message.request, answer);
      case ServiceAsk::create_module:
      case ServiceAsk::make_module:
      case ServiceAsk::share_module:
      case ServiceAsk::fetch_module:
        return services.modules.ask(depot.tenant(), message.worker, message.request, answer);
      default:
        return services.data.ask(depot.tenant(), message.worker, message.request, answer);
    }
  };
  const auto nonsense = [&workers](std::uint64_t id) {
    const auto worker = workers.alive().find(id);
    if (worker == workers.alive().end()) return;
    log::warn("event=worker_sent_nonsense worker={} to=depot", id);
    worker->second->kill(KillReason::nonsense);
  };
  const auto unserved = [&workers](std::uint64_t id) {
    const auto worker = workers.alive().find(id);
    if (worker == workers.alive().end()) return;
    log::warn("event=worker_not_served worker={} by=depot", id);
    worker->second->kill(KillReason::unresponsive);
  };
  depots.set_handlers({.asked = asked, .nonsense = nonsense, .unserved = unserved});
  workers.watch_ends([&depots, services](std::uint64_t worker) {
    depots.leave(worker);
    services.data.worker_ended(worker);
    services.memory.worker_ended(worker);
    services.modules.worker_ended(worker);
  });
}

}  // namespace orchid::executor
