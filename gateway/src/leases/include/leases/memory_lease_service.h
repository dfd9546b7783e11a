// leases/memory_lease_service.h: leases of memory, asked for from any thread.
#pragma once
#include <utility>
#include <vector>

#include "hosts/executor_messages.h"
#include "leases/broker_loop.h"
#include "leases/memory_leases.h"

namespace orchid::gateway {

/// Belongs to the control thread; `open` may be called on any thread.
class MemoryLeaseService final : private ActionPerformer {
 public:
  /// Everything in `parts` outlives the control thread.
  MemoryLeaseService(BrokerLoop& loop, ExecutorMessages& messages, MemoryLeases::Parts parts,
                     MemoryLeases::Options options);

  /// `done` is called on the thread of `reply_to`; see MemoryLeases::open.
  void open(MemoryLeaseRequest request, Poster reply_to, MemoryLeases::Opened done);
  /// Control thread.
  [[nodiscard]] MemoryLeases& leases() { return leases_; }
  void executor_joined(const Executor& executor, const std::vector<MemoryHeld>& held) {
    leases_.executor_joined(executor, held, loop_.now());
  }

 private:
  [[nodiscard]] bool perform(const BrokerAction& /*action*/) override { return false; }
  void tick(MonotonicTime now) override { leases_.tick(now); }

  BrokerLoop& loop_;
  MemoryLeases leases_;
};

}  // namespace orchid::gateway
