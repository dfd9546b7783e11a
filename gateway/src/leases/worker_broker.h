// leases/worker_broker.h: who gets the next free core. Plain decisions over plain data: no socket,
// no thread; time is passed in, and what is to be done comes out as a list of actions.
//
// Fairness: a free core goes to the dispatcher with the fewest workers among those that want more.
// When none is free, workers that their holder does not want are asked back first, then one of the
// richest holder's, if it would still not be poorer than who gets it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hosts/host_book.h"
#include "leases/lease_book.h"
#include "leases/worker_supply.h"

namespace orchid::gateway {

struct SendToExecutor {
  ExecutorId executor;
  ControlMessage message;
};
struct ForgetExecutor {  // its stream too
  ExecutorId executor;
};
struct GiveWorker {
  DispatcherId dispatcher;
  WorkerGrant grant;
};
struct AskBack {
  DispatcherId dispatcher;
  unsigned count = 0;
};
struct TellLeaseEnded {
  DispatcherId dispatcher;
  LeaseId lease;
};
struct TellExecutorAnswers {  // to all dispatchers
  ExecutorId executor;
  bool answers = false;
};
struct TellSupply {
  DispatcherId dispatcher;
  bool exists = false;
};
using BrokerAction = std::variant<SendToExecutor, ForgetExecutor, GiveWorker, AskBack,
                                  TellLeaseEnded, TellExecutorAnswers, TellSupply>;

/// Owned by the control thread.
class WorkerBroker {
 public:
  struct Options {
    std::uint64_t epoch = 1;
    std::string boot_id;  // workers of this host only: the local lane ends at the host
    ByteCount worker_memory{1ULL << 30};
    std::chrono::milliseconds forget_lost_after{30'000};  // a lost executor's leases end then
    std::chrono::milliseconds open_within{2'000};  // else the lease is asked of another executor
    std::chrono::milliseconds refusal_pause{100};
    std::chrono::milliseconds ask_back_again{1'000};
  };
  explicit WorkerBroker(Options options);
  WorkerBroker(const WorkerBroker&) = delete;  // the lease book borrows the host book
  WorkerBroker& operator=(const WorkerBroker&) = delete;

  // Dispatchers.
  void add_dispatcher(DispatcherId id, LeaseTenant tenant);
  void remove_dispatcher(DispatcherId id, MonotonicTime now);
  void want_workers(DispatcherId id, unsigned total, MonotonicTime now);
  void given_back(DispatcherId id, LeaseId lease, MonotonicTime now);

  // Executors.
  void executor_joined(Executor executor, MonotonicTime now);
  void executor_resumed(const ExecutorId& id, MonotonicTime now);
  void executor_lost(const ExecutorId& id, MonotonicTime now);
  void executor_said(const ExecutorId& id, const ControlMessage& message, MonotonicTime now);
  void tick(MonotonicTime now);

  /// What has to be done since the last time, in order.
  [[nodiscard]] std::vector<BrokerAction> take_actions();

  /// Whether an executor is connected that could give workers, as the dispatchers were told.
  [[nodiscard]] bool has_supply() const { return supply_told_; }
  [[nodiscard]] const HostBook& hosts() const { return hosts_; }
  [[nodiscard]] const LeaseBook& leases() const { return leases_; }

 private:
  struct Holder {
    LeaseTenant tenant;
    unsigned wanted = 0;
    unsigned held = 0;        // leases asked for or given, and not given back
    unsigned asked_back = 0;  // of those, asked back and not yet returned
    MonotonicTime asked_at;
    [[nodiscard]] unsigned unmet() const { return wanted > held ? wanted - held : 0; }
    [[nodiscard]] unsigned lasting() const { return held > asked_back ? held - asked_back : 0; }
  };
  void plan(MonotonicTime now);
  [[nodiscard]] bool open_one(MonotonicTime now);
  void ask_back(MonotonicTime now);
  [[nodiscard]] std::optional<ExecutorId> freest_executor(MonotonicTime now) const;
  [[nodiscard]] bool usable(const Executor& executor) const;
  void drop_executor(const ExecutorId& id);
  void forget_lost(const ExecutorId& id, MonotonicTime now);
  void lease_ended(const ExecutorId& id, const LeaseBook::Ended& ended);
  void end_for_holder(const Lease& lease);
  void release_holder(const Lease& lease);
  void tell_supply();

  Options options_;
  HostBook hosts_;
  LeaseBook leases_;
  std::map<DispatcherId, Holder> holders_;
  std::map<ExecutorId, MonotonicTime> pause_until_;  // after a refusal
  DispatcherId last_served_;                         // ties go to whoever comes after it
  bool supply_told_ = false;
  std::vector<BrokerAction> actions_;
};

}  // namespace orchid::gateway
