// leases/lease_service.h: clients' leases, asked for from any thread.
#pragma once
#include <utility>
#include <vector>

#include "leases/broker_loop.h"
#include "leases/client_leases.h"

namespace orchid::gateway {

/// Belongs to the control thread; `open` and `ask` may be called on any thread.
class LeaseService final : private ActionPerformer {
 public:
  /// `workers_per_tenant`: as in ClientLeases.
  LeaseService(BrokerLoop& loop, WorkerBroker& broker, std::size_t workers_per_tenant);

  /// `done` is called on the thread of `reply_to`; see ClientLeases::open.
  void open(ClientLeaseRequest request, Poster reply_to, ClientLeases::Opened done);
  /// `done` is called with `question(leases, now)` on the thread of `reply_to`.
  template <typename Question, typename Done>
  void ask(Question question, Poster reply_to, Done done) {
    loop_.ask([this, question = std::move(question)](
                  WorkerBroker&, MonotonicTime now) mutable { return question(leases_, now); },
              std::move(reply_to), std::move(done));
  }
  /// Control thread: what an executor that connects holds for clients.
  [[nodiscard]] std::vector<WorkerBroker::Held> adopt(const std::vector<LeaseHeld>& held,
                                                      const Executor& executor, MonotonicTime now) {
    return leases_.adopt(held, executor, now);
  }

 private:
  [[nodiscard]] bool perform(const BrokerAction& action) override;
  void tick(MonotonicTime now) override { leases_.tick(now); }

  BrokerLoop& loop_;
  ClientLeases leases_;
};

}  // namespace orchid::gateway
