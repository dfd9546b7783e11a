// leases/worker_broker.h: who gets the next free core. Plain decisions over plain data: no socket,
// no thread; time is passed in, and what is to be done comes out as a list of actions.
//
// Workers are held by dispatchers, for the HTTP calls that they run, and by clients' leases. Where
// a worker goes is decided by the placement (hosts/capacity.h): on its holder's own host if there
// is room, since it is nearest, else elsewhere. Fairness: a free core goes to the tenant that has
// least for its weight among those that want more, and there to the holder with the fewest workers.
// When none is free, workers that a dispatcher does not want are asked back first, then one of the
// richest dispatcher's, if it would still not be poorer than who gets it. Clients keep what they
// have. A worker that takes more than is likely to come free at once has a host reserved for it
// (host_reservations.h).
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hosts/capacity.h"
#include "hosts/host_book.h"
#include "leases/decision_index.h"
#include "leases/host_reservations.h"
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
struct TellRefused {  // a dispatcher
  HolderId holder;
  LeaseId lease;  // that there is not; its decision is remembered
};
struct AskBack {
  HolderId holder;
  unsigned count = 0;             // that it owes now, whatever it was told before
  std::vector<ExecutorId> where;  // of one of these; empty: any will do
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
  Supply supply{};
  friend bool operator==(const TellSupply&, const TellSupply&) = default;
};
using BrokerAction = std::variant<SendToExecutor, ForgetExecutor, GiveWorker, TellRefused, AskBack,
                                  TellLeaseEnded, TellExecutorAnswers, TellSupply>;

/// What a client asks for.
struct ClientLeaseRequest {
  LeaseTenant tenant{};
  placement::WorkerRequest worker{};  // each of them
  std::uint32_t workers = 1;
  std::uint32_t at_least = 1;  // fewer than `workers`: what there is now is enough
  WaitMode wait = WaitMode::adaptive;
  bool separate_processes = false;  // for its modules
  bool crew = false;                // its workers speak to each other: all of them or none
  bool crew_spreads = false;        // they may be at several executors
  std::chrono::milliseconds duration{60'000};
  std::chrono::milliseconds within{10'000};  // for the workers to be there
  /// What executors are told.
  [[nodiscard]] ClientTerms terms(LeaseId client_lease) const {
    return {.client_lease = client_lease,
            .wait = wait,
            .separate_processes = separate_processes,
            .crew = crew ? workers : 0,
            .crew_spread = crew_spreads};
  }
};

/// Owned by the control thread.
class WorkerBroker {
 public:
  struct Options {
    std::uint64_t epoch = 1;
    std::string boot_id;           // this host's: its workers come first, they are the nearest
    bool remote_dispatch = false;  // workers of other hosts run HTTP calls too
    bool grows = false;            // more executors come when more is wanted: pilots
    ByteCount worker_memory{1ULL << 30};
    std::chrono::milliseconds forget_lost_after{30'000};  // a lost executor's leases end then
    std::chrono::milliseconds open_within{2'000};  // else the lease is asked of another executor
    std::chrono::milliseconds refusal_pause{100};
    unsigned workers_ahead = 4;  // that a tenant may have and not want yet: see spare_worker
    std::chrono::milliseconds ask_back_again{1'000};
    /// A GPU whose process is being started, or started again, is waited for so long.
    std::chrono::milliseconds gpus_return_within{30'000};
    /// That an owner has taken all back: data there is not moved for less.
    std::chrono::milliseconds cores_return_within{1'000};
    /// After a restart hosts connect one by one: until then none is said to be missing.
    MonotonicTime hosts_return_by{};
  };
  explicit WorkerBroker(Options options, Capacity::Options capacity = {});
  WorkerBroker(const WorkerBroker&) = delete;  // the books borrow each other
  WorkerBroker& operator=(const WorkerBroker&) = delete;

  // Holders.
  /// `worker`: what each of its workers has, and constraints on its host. Memory 0: as the site
  /// gives.
  void add_dispatcher(HolderId id, LeaseTenant tenant, placement::WorkerRequest worker = {});
  /// `expires`: when the leases of its workers end by themselves. It wants none yet.
  void add_client(HolderId id, const ClientLeaseRequest& request, LeaseId client_lease,
                  MonotonicTime expires);
  /// Its leases, those to come as well, last until then.
  void renew_client(HolderId id, MonotonicTime expires, MonotonicTime now);
  /// Gives back all that it has.
  void remove_holder(HolderId id, MonotonicTime now);
  void want_workers(HolderId id, unsigned total, MonotonicTime now);
  /// As WorkerSupply has it.
  void spare_worker(HolderId id, MonotonicTime now);
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
  // What executors say. Of one that is not known it is nothing.
  void executor_said(const ExecutorId& id, const LeaseOpened& message, MonotonicTime now);
  void executor_said(const ExecutorId& id, const LeaseRefused& message, MonotonicTime now);
  void executor_said(const ExecutorId& id, const LeaseClosed& message, MonotonicTime now);
  void executor_said(const ExecutorId& id, const CapacityReport& message, MonotonicTime now);
  void executor_said(const ExecutorId& id, const GrantChanged& message, MonotonicTime now);
  /// What is known of hosts from elsewhere has changed.
  void clusters_changed(const TouchedNodes& nodes, MonotonicTime now);
  void tick(MonotonicTime now);

  [[nodiscard]] const std::string& boot_id() const { return options_.boot_id; }
  [[nodiscard]] ByteCount worker_memory() const { return options_.worker_memory; }
  /// What there is is not all that there can be.
  [[nodiscard]] bool grows() const { return options_.grows; }
  [[nodiscard]] LeaseId next_lease_id() { return leases_.next_id(); }
  /// Workers that are wanted and have found no place, though more capacity could give them one: a
  /// tenant's that has all that its quota allows are not among them.
  [[nodiscard]] std::vector<placement::WorkerDemand> demand() const;
  /// By tenant, what is wanted for stored calls that wait before any dispatcher has them, since no
  /// host could run them. They are of the demand; no place is looked for.
  using KeptBack = std::function<std::map<uid_t, std::vector<placement::WorkerDemand>>()>;
  void ask_for_kept_back(KeptBack ask) { kept_back_ = std::move(ask); }
  /// How many such workers there could be at most, if nobody else had any.
  [[nodiscard]] std::size_t largest(const placement::WorkerRequest& worker) const;
  /// The same request, but not on hosts with an executor that is too old for this version of the
  /// lane protocol.
  [[nodiscard]] placement::WorkerRequest where_lanes_speak(std::uint32_t protocol,
                                                           placement::WorkerRequest worker) const;
  /// Leases that the holder has or that are on their way to it.
  [[nodiscard]] unsigned held_by(HolderId id) const;
  /// The last decision for the holder; nothing before the first one.
  [[nodiscard]] std::optional<placement::DecisionId> decision_for(HolderId id) const;
  /// Why the last one refused; nothing when it did not.
  [[nodiscard]] std::optional<placement::Refusal> refusal_of(HolderId id) const;
  /// For a client's lease that there is not, since it cannot be: what is said of each grant becomes
  /// its decision, for `explain`. The summary of it, for people.
  [[nodiscard]] std::string note_refusal(LeaseId client_lease, const ClientLeaseRequest& request,
                                         MonotonicTime now);
  /// Of a lease of one worker, or all those of a client's lease; the oldest first. Of this tenant
  /// only. Errors: `not_found`: there is none, or it is forgotten.
  [[nodiscard]] Result<std::vector<placement::Explanation>> explain(uid_t tenant,
                                                                    LeaseId lease) const;
  /// What would be said of each host now, of a worker with this alternative of the request.
  [[nodiscard]] std::vector<placement::HostReason> consider(placement::Request request,
                                                            MonotonicTime now,
                                                            std::uint32_t alternative = 0) const;

  /// What has to be done since the last time, in order.
  [[nodiscard]] std::vector<BrokerAction> take_actions();

  /// Whether an executor is connected that could give dispatchers such workers.
  [[nodiscard]] bool has_supply(placement::WorkerRequest worker = {}) const;
  /// Why no connected host could ever have such workers, in words: "no image for x86-64; the module
  /// has aarch64". Empty: one could, none is there at all, or some may still come back.
  [[nodiscard]] std::string why_no_host(const placement::WorkerRequest& worker) const;
  /// Whether there is a cluster of this name. Errors: `bad_request`; not while some that are known
  /// of may still come back.
  [[nodiscard]] Result<void> check_cluster(const std::string& name) const;
  /// Whether the executor, were nobody else there, could give dispatchers such workers; also one
  /// that is away.
  [[nodiscard]] bool could_give_dispatchers(const ExecutorId& executor,
                                            placement::WorkerRequest worker) const;
  /// Its owner has taken all cores back, and left it its memory; and the tenant's call, which needs
  /// data there and this worker, could be at another executor, which copies data and has cores.
  [[nodiscard]] bool is_left(const ExecutorId& executor, const LeaseTenant& tenant,
                             placement::WorkerRequest worker) const;
  [[nodiscard]] const HostBook& hosts() const { return hosts_; }
  [[nodiscard]] const LeaseBook& leases() const { return leases_; }
  [[nodiscard]] const Capacity& capacity() const { return capacity_; }
  [[nodiscard]] const HostReservations& reservations() const { return reservations_; }

 private:
  struct Holder {
    LeaseTenant tenant;
    placement::WorkerRequest worker;    // each of them
    std::optional<ClientTerms> client;  // it keeps what it has
    MonotonicTime expires;              // of a client's leases
    unsigned wanted = 0;
    unsigned held = 0;                            // leases asked for or given, and not given back
    std::map<ExecutorId, std::uint32_t> held_at;  // how many of them are where
    std::size_t cores = 0;                        // of all of them
    unsigned asked_back = 0;                      // of those, asked back and not yet returned
    unsigned ahead = 0;                           // of those, taken ahead and not wanted yet
    MonotonicTime since;                          // it waits: for the first, or for one more
    std::uint64_t refused_at =
        0;  // of the capacity's version: it is not asked again before that changes
    std::optional<placement::DecisionId> decision;
    bool over_quota = false;         // by that decision
    std::optional<LeaseId> refused;  // what a dispatcher asks for in vain and was told of
    std::optional<Supply> supply;    // as a dispatcher was last told
    bool kept_out = false;           // refused while hosts were reserved for others
    MonotonicTime reserves_again{};  // not before
    std::chrono::milliseconds reserves_for = first_reservation;
    void has_one_more(const Lease& lease, MonotonicTime now);
    void has_one_less(const Lease& lease, MonotonicTime now);
    void forget_failed_reservations();
    void count_ahead() { ahead = std::min(ahead, held > wanted ? held - wanted : 0); }
    [[nodiscard]] unsigned unmet() const { return wanted > held ? wanted - held : 0; }
    /// Its alternative with the fewest GPUs: cores alone can be asked back of others.
    [[nodiscard]] const placement::WorkerShape& simplest() const;
    [[nodiscard]] std::uint32_t cores_each() const { return simplest().cores; }
    /// Of so many of those that it holds; they need not be alike.
    [[nodiscard]] std::size_t cores_of(unsigned workers) const {
      return held == 0 ? 0 : (workers * cores + held - 1) / held;
    }
    /// Held, and not wanted.
    [[nodiscard]] unsigned surplus() const { return lasting() > wanted ? lasting() - wanted : 0; }
    /// What it could be asked for.
    [[nodiscard]] unsigned lasting() const {
      return !client && held > asked_back ? held - asked_back : 0;
    }
  };
  void plan(MonotonicTime now);
  [[nodiscard]] bool open_one(MonotonicTime now);
  using HostNames = std::vector<std::string>;
  /// Not on those hosts.
  [[nodiscard]] bool open_for(HolderId id, Holder& holder, MonotonicTime now,
                              const HostNames& avoid = {});
  [[nodiscard]] const Lease* find_place(HolderId id, Holder& holder, MonotonicTime now,
                                        const HostNames& avoid);
  [[nodiscard]] unsigned ahead_of(const LeaseTenant& tenant) const;
  [[nodiscard]] HostNames waited_for() const;
  [[nodiscard]] placement::Request request_of(const Holder& holder) const;
  using Decisions = std::vector<placement::DecisionId>;
  void note(LeaseId lease, placement::DecisionId decision);
  void remember_refusals(HolderId id, Holder& holder, const Decisions& refusals);
  [[nodiscard]] LeaseBook::Opening open_first(const LeaseBook::Owner& owner,
                                              placement::Request request, Decisions& refusals,
                                              MonotonicTime now);
  [[nodiscard]] std::optional<placement::WorkerDemand> demand_of(const Holder& holder) const;
  [[nodiscard]] std::vector<std::pair<placement::HostId, std::uint32_t>> hosts_of(
      const Holder& holder) const;
  // Who gives: worker_broker_ask_back.cpp.
  using Asked = std::map<HolderId, std::set<ExecutorId>>;  // whose workers; none: any will do
  void ask_back(MonotonicTime now);
  void ask_back_for(HolderId poor_id, const Holder& poor, std::size_t& incoming, Asked& asked);
  void ask(HolderId donor, const std::vector<ExecutorId>& where, Asked& asked);
  [[nodiscard]] std::size_t incoming_cores() const;
  /// What a holder could give.
  struct Donor {
    unsigned surplus = 0;
    unsigned workers = 0;
    std::size_t cores = 0;
  };
  [[nodiscard]] static bool may_take(const Donor& donor, std::size_t cores, const Holder& poor,
                                     unsigned has);
  [[nodiscard]] bool is_reserved(const ExecutorId& executor) const;
  // Reservations: worker_broker_reserve.cpp.
  static constexpr std::chrono::milliseconds first_reservation{30'000};
  /// Of connected executors, by boot id. Borrowed from the book: to be made anew after it changes.
  using HostLeases = std::map<std::string, std::vector<const Lease*>>;
  [[nodiscard]] HostLeases leases_by_host() const;
  /// How there comes to be room at an executor.
  struct Gathering {
    unsigned workers = 0;             // so many; 0: it cannot come to that, or needs no gathering
    std::vector<const Lease*> asked;  // that have to be asked back for them
    [[nodiscard]] std::size_t cores() const;
  };
  [[nodiscard]] Gathering gather(const Executor& executor, HolderId id,
                                 const placement::WorkerShape& shape, unsigned most,
                                 const HostLeases& leases, MonotonicTime now) const;
  struct Gatherable;
  [[nodiscard]] Gatherable gatherable(const Executor& executor, HolderId id,
                                      const HostLeases& leases) const;
  struct Spot {
    const Executor* executor = nullptr;
    placement::WorkerShape shape{};
    std::size_t cores = 0;  // to be asked back
  };
  /// Each host where the holder could have a worker sooner or later, once others have given theirs.
  [[nodiscard]] std::vector<Spot> spots_for(HolderId id, const HostLeases& leases,
                                            MonotonicTime now) const;
  [[nodiscard]] bool is_large(const Holder& holder) const;
  [[nodiscard]] bool is_beyond_quota(const Holder& holder,
                                     const placement::WorkerShape& shape) const;
  [[nodiscard]] bool may_reserve(const Holder& holder, MonotonicTime now) const;
  [[nodiscard]] bool is_overdue(const Holder& holder, MonotonicTime now) const;
  [[nodiscard]] bool may_pass(const Holder& holder,
                              const HostReservations::Reservation& reservation,
                              MonotonicTime now) const;
  [[nodiscard]] bool may_pass_any(const Holder& holder, MonotonicTime now) const;
  [[nodiscard]] std::vector<HolderId> waiting_line(MonotonicTime now) const;
  void reserve(MonotonicTime now);
  void reserve_for(HolderId id, std::set<std::string>& spoken_for, const HostLeases& leases,
                   MonotonicTime now);
  void ask_for(const std::string& boot_id, const HostLeases& leases, Asked& asked,
               MonotonicTime now);
  void served(HolderId id, const Lease& lease, MonotonicTime now);
  void end_reservations(MonotonicTime now);
  void end_reservation(const std::string& boot_id, MonotonicTime now);
  void keep_out(HolderId id, Holder& holder, placement::WorkerRequest& worker, MonotonicTime now);
  /// Executors of a holder's workers that would do for another one.
  struct Useful {
    std::vector<ExecutorId> executors;
    bool all = true;
  };
  [[nodiscard]] Useful useful_workers(const Holder& poor, HolderId donor) const;
  void opened(const ExecutorId& id, LeaseId lease, MonotonicTime now);
  void take_over(const ExecutorId& id, const std::vector<Held>& held, MonotonicTime now);
  [[nodiscard]] WorkerGrant grant_of(const Lease& lease) const;
  [[nodiscard]] bool fits(const Executor& executor, const placement::WorkerRequest& worker) const;
  [[nodiscard]] std::uint32_t workers_with_gpus(const HostDescription& host,
                                                const placement::CoreSet& gpus,
                                                const placement::WorkerShape& shape) const;
  [[nodiscard]] placement::WorkerRequest dispatcher_worker(placement::WorkerRequest worker) const;
  [[nodiscard]] bool can_give(const Executor& executor,
                              const placement::WorkerRequest& worker) const;
  [[nodiscard]] bool could_give(const Executor& executor,
                                const placement::WorkerRequest& worker) const;
  [[nodiscard]] bool has_shape(const Executor& executor, const placement::WorkerShape& shape) const;
  [[nodiscard]] bool may_give_soon(const Executor& executor,
                                   const placement::WorkerRequest& worker) const;
  void look_at_faults(const Executor& executor, const std::vector<OfferedGpu>& gpus,
                      MonotonicTime now);
  [[nodiscard]] std::string why_too_small(const placement::WorkerRequest& worker) const;
  [[nodiscard]] Supply supply_for(const LeaseTenant& tenant,
                                  const placement::WorkerRequest& worker) const;
  void refresh_host(const std::string& boot_id, MonotonicTime now);
  void displace(const Capacity::Losses& losses, MonotonicTime now);
  void drop_executor(const ExecutorId& id, MonotonicTime now);
  void forget_lost(const ExecutorId& id, MonotonicTime now);
  /// Its process is gone.
  void remove_executor(const ExecutorId& id, MonotonicTime now);
  void lease_ended(const ExecutorId& id, const LeaseBook::Ended& ended, bool lost,
                   MonotonicTime now);
  void end_for_holder(const Lease& lease, bool lost, MonotonicTime now);
  void release_holder(const Lease& lease, MonotonicTime now);
  void tell_supply();

  Options options_;
  HostBook hosts_;
  Capacity capacity_;
  LeaseBook leases_;
  std::map<HolderId, Holder> holders_;
  DecisionIndex decisions_;
  HolderId last_served_;  // ties go to whoever comes after it
  HostReservations reservations_;
  KeptBack kept_back_;
  bool hosts_are_back_;       // so far as they come back
  MonotonicTime asked_at_{};  // when it was last found out anew who owes what
  std::vector<BrokerAction> actions_;
};

}  // namespace orchid::gateway
