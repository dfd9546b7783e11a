#include "leases/lease_service.h"

namespace orchid::gateway {

LeaseService::LeaseService(BrokerLoop& loop, WorkerBroker& broker, std::size_t workers_per_tenant)
    : loop_(loop), leases_(broker, workers_per_tenant) {
  loop.add(*this);
}

void LeaseService::open(ClientLeaseRequest request, Poster reply_to, ClientLeases::Opened done) {
  loop_.post([this, request = std::move(request), reply_to = std::move(reply_to),
              done = std::move(done)](WorkerBroker&, MonotonicTime now) mutable {
    leases_.open(
        std::move(request), now,
        [reply_to = std::move(reply_to), done = std::move(done)](Result<ClientLeaseView> answer) {
          reply_to([done, answer = std::move(answer)] { done(answer); });
        });
  });
}

bool LeaseService::perform(const BrokerAction& action) {
  if (const auto* give = std::get_if<GiveWorker>(&action))
    return leases_.granted(give->holder, give->grant, loop_.now());
  if (const auto* ended = std::get_if<TellLeaseEnded>(&action))
    return leases_.ended(*ended, loop_.now());
  return false;
}

}  // namespace orchid::gateway
