#include "leases/memory_lease_service.h"

namespace orchid::gateway {

MemoryLeaseService::MemoryLeaseService(BrokerLoop& loop, ExecutorMessages& messages,
                                       MemoryLeases::Parts parts, MemoryLeases::Options options)
    : loop_(loop), leases_(std::move(parts), options) {
  loop.add(*this);
  const auto listen = [this](const ExecutorId& executor, const auto& message) {
    leases_.hear(executor, message, loop_.now());
  };
  messages.on<MemoryLeased>(listen);
  messages.on<MemoryRefused>(listen);
  messages.on<MemoryEnded>(listen);
  messages.on<FindMemory>(listen);
}

void MemoryLeaseService::open(MemoryLeaseRequest request, Poster reply_to,
                              MemoryLeases::Opened done) {
  loop_.post([this, request = std::move(request), reply_to = std::move(reply_to),
              done = std::move(done)](WorkerBroker&, MonotonicTime now) mutable {
    leases_.open(
        std::move(request), now,
        [reply_to = std::move(reply_to), done = std::move(done)](Result<MemoryLeaseView> answer) {
          reply_to([done, answer = std::move(answer)] { done(answer); });
        });
  });
}

}  // namespace orchid::gateway
