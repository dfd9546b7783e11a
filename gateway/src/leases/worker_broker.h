// leases/worker_broker.h: who gets the next free core. Plain decisions over plain data: no socket,
// no thread; time is passed in, and what is to be done comes out as a list of actions.
//
// Workers are held by dispatchers, for the HTTP calls that they run, and by clients' leases.
// Fairness: a free core goes to the holder with the fewest workers among those that want more. When
// none is free, workers that a dispatcher does not want are asked back first, then one of the
// richest dispatcher's, if it would still not be poorer than who gets it. Clients keep what they
// have.
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
  HolderId holder;
  WorkerGrant grant;
};
struct AskBack {
  HolderId holder;
  unsigned count = 0;
};
struct TellLeaseEnded {
  HolderId holder;
  LeaseId lease;
  bool lost = false;  // with its executor; else it came to its own end
};
struct TellExecutorAnswers {  // to all dispatchers
  ExecutorId executor;
  bool answers = false;
};
struct TellSupply {
  HolderId holder;
  bool exists = false;
};
using BrokerAction = std::variant<SendToExecutor, ForgetExecutor, GiveWorker, AskBack,
                                  TellLeaseEnded, TellExecutorAnswers, TellSupply>;

/// What a holder's workers are like, and where they may be.
struct WorkerTerms {
  LeaseTenant tenant;
  std::uint32_t cores = 1;  // of each
  ByteCount memory;         // of each
  std::string boot_id;  // the holder's own host: its workers there are reached by the local lane
  bool remote = false;  // workers of other hosts too, where executors have an address
  std::string host;     // only of the host with this name; empty: of any
};

/// Owned by the control thread.
class WorkerBroker {
 public:
  struct Options {
    std::uint64_t epoch = 1;
    std::string boot_id;           // this host's: its workers come first, they are the nearest
    bool remote_dispatch = false;  // workers of other hosts run HTTP calls too
    ByteCount worker_memory{1ULL << 30};
    std::chrono::milliseconds forget_lost_after{30'000};  // a lost executor's leases end then
    std::chrono::milliseconds open_within{2'000};  // else the lease is asked of another executor
    std::chrono::milliseconds refusal_pause{100};
    std::chrono::milliseconds ask_back_again{1'000};
  };
  explicit WorkerBroker(Options options);
  WorkerBroker(const WorkerBroker&) = delete;  // the lease book borrows the host book
  WorkerBroker& operator=(const WorkerBroker&) = delete;

  // Holders.
  void add_dispatcher(HolderId id, LeaseTenant tenant);
  /// `expires`: when the leases of its workers end by themselves.
  void add_client(HolderId id, WorkerTerms terms, ClientTerms client, MonotonicTime expires);
  /// Its leases, those to come as well, last until then.
  void renew_client(HolderId id, MonotonicTime expires, MonotonicTime now);
  /// Gives back all that it has.
  void remove_holder(HolderId id, MonotonicTime now);
  void want_workers(HolderId id, unsigned total, MonotonicTime now);
  void given_back(HolderId id, LeaseId lease, MonotonicTime now);
  /// The holder cannot use it any more, and wants another one in its place.
  void worker_lost(HolderId id, LeaseId lease, MonotonicTime now);

  // Executors.
  /// A client's lease that an executor has, and the holder that it belongs to.
  struct Held {
    LeaseHeld lease;
    HolderId holder;
  };
  void executor_joined(Executor executor, const std::vector<Held>& held, MonotonicTime now);
  void executor_resumed(const ExecutorId& id, MonotonicTime now);
  void executor_lost(const ExecutorId& id, MonotonicTime now);
  void executor_said(const ExecutorId& id, const ControlMessage& message, MonotonicTime now);
  void tick(MonotonicTime now);

  [[nodiscard]] ByteCount worker_memory() const { return options_.worker_memory; }
  [[nodiscard]] LeaseId next_lease_id() { return leases_.next_id(); }
  /// How many workers of such terms there could be at most, if nobody else had any.
  [[nodiscard]] std::size_t largest(const WorkerTerms& terms) const;
  /// Leases that the holder has or that are on their way to it.
  [[nodiscard]] unsigned held_by(HolderId id) const;

  /// What has to be done since the last time, in order.
  [[nodiscard]] std::vector<BrokerAction> take_actions();

  /// Whether an executor is connected that could give workers, as the dispatchers were told.
  [[nodiscard]] bool has_supply() const { return supply_told_; }
  [[nodiscard]] const HostBook& hosts() const { return hosts_; }
  [[nodiscard]] const LeaseBook& leases() const { return leases_; }

 private:
  struct Holder {
    WorkerTerms terms;
    std::optional<ClientTerms> client;  // it keeps what it has
    MonotonicTime expires;              // of a client's leases
    unsigned wanted = 0;
    unsigned held = 0;        // leases asked for or given, and not given back
    unsigned asked_back = 0;  // of those, asked back and not yet returned
    MonotonicTime asked_at;
    [[nodiscard]] unsigned unmet() const { return wanted > held ? wanted - held : 0; }
    /// What it could be asked for.
    [[nodiscard]] unsigned lasting() const {
      return !client && held > asked_back ? held - asked_back : 0;
    }
  };
  void plan(MonotonicTime now);
  [[nodiscard]] bool open_one(MonotonicTime now);
  [[nodiscard]] bool open_for(HolderId id, Holder& holder, MonotonicTime now);
  void ask_back(MonotonicTime now);
  void opened(const ExecutorId& id, LeaseId lease, MonotonicTime now);
  void take_over(const ExecutorId& id, const std::vector<Held>& held, MonotonicTime now);
  [[nodiscard]] WorkerGrant grant_of(const Lease& lease) const;
  [[nodiscard]] std::optional<ExecutorId> freest_executor(const WorkerTerms& terms,
                                                          MonotonicTime now) const;
  [[nodiscard]] static bool fits(const Executor& executor, const WorkerTerms& terms);
  [[nodiscard]] WorkerTerms dispatcher_terms(LeaseTenant tenant) const;
  void drop_executor(const ExecutorId& id);
  void forget_lost(const ExecutorId& id, MonotonicTime now);
  void lease_ended(const ExecutorId& id, const LeaseBook::Ended& ended, bool lost);
  void end_for_holder(const Lease& lease, bool lost);
  void release_holder(const Lease& lease);
  void tell_supply();

  Options options_;
  HostBook hosts_;
  LeaseBook leases_;
  std::map<HolderId, Holder> holders_;
  std::map<ExecutorId, MonotonicTime> pause_until_;  // after a refusal
  HolderId last_served_;                             // ties go to whoever comes after it
  bool supply_told_ = false;
  std::vector<BrokerAction> actions_;
};

}  // namespace orchid::gateway
