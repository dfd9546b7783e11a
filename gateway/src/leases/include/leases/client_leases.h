// leases/client_leases.h: the leases that clients hold to call workers directly. Plain decisions
// over plain data: no socket, no thread; time is passed in.
//
// A client's lease is a holder in the broker. Its workers are executors' leases of one worker each,
// wherever there is room; when one is lost, the broker looks for another. The executors outlive
// this process: what they hold comes back with their hellos.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "leases/call_traces.h"
#include "leases/worker_broker.h"
#include "protocol/control_messages.h"

namespace orchid::gateway {

/// A lease as its owner sees it. A value. A grant without a secret was made by an earlier gateway.
struct ClientLeaseView {
  LeaseId id;
  placement::WorkerRequest worker{};
  std::uint32_t workers_wanted = 1;
  WaitMode wait = WaitMode::adaptive;
  bool separate_processes = false;
  bool crew = false;
  bool open = false;  // false: its workers are still being looked for
  std::chrono::milliseconds expires_in{0};
  std::vector<WorkerGrant> workers;
};

/// What a client asks for now and then.
struct ClientLeaseRenewal {
  std::chrono::milliseconds duration{60'000};  // from now on
  std::vector<LeaseId> lost;  // workers that it cannot reach any more, and wants others for
};

/// Owned by the control thread. `broker` outlives it.
class ClientLeases {
 public:
  static constexpr std::chrono::milliseconds shortest{1'000};
  static constexpr std::chrono::milliseconds longest{24 * 3'600'000};
  using Opened = std::function<void(Result<ClientLeaseView>)>;

  /// `workers_per_tenant`: together in all leases of a tenant; 0: as many as there are.
  ClientLeases(WorkerBroker& broker, std::size_t workers_per_tenant)
      : broker_(broker), workers_per_tenant_(workers_per_tenant) {}

  /// `done` is called once, now or later: when the workers are there, or with `no_capacity` (also
  /// at once, when the request can never be met), `quota`, `bad_request`.
  void open(ClientLeaseRequest request, MonotonicTime now, Opened done);
  /// Errors: `not_found`, `bad_request`.
  [[nodiscard]] Result<ClientLeaseView> renew(uid_t tenant, LeaseId id,
                                              const ClientLeaseRenewal& renewal, MonotonicTime now);
  /// Errors: `not_found`.
  [[nodiscard]] Result<void> close(uid_t tenant, LeaseId id, MonotonicTime now);
  [[nodiscard]] Result<ClientLeaseView> find(uid_t tenant, LeaseId id, MonotonicTime now) const;
  /// Calls of a lease that its client has traced. Errors: `not_found`.
  [[nodiscard]] Result<void> tell_calls(uid_t tenant, LeaseId id, std::vector<TracedCall> calls,
                                        MonotonicTime now);
  /// The last of them, also of a lease that has ended a while ago. Errors: `not_found`.
  [[nodiscard]] Result<std::vector<TracedCall>> calls_of(uid_t tenant, LeaseId id) const;
  [[nodiscard]] std::vector<ClientLeaseView> list(uid_t tenant, MonotonicTime now) const;

  /// What an executor that connects holds for clients, for the broker: leases that are not known
  /// become so.
  [[nodiscard]] std::vector<WorkerBroker::Held> adopt(const std::vector<LeaseHeld>& held,
                                                      const Executor& executor, MonotonicTime now);

  /// What the broker tells holders; those that are not ours are not touched, and the answer is
  /// false.
  bool granted(HolderId holder, const WorkerGrant& grant, MonotonicTime now);
  bool ended(const TellLeaseEnded& end, MonotonicTime now);
  void tick(MonotonicTime now);

 private:
  struct ClientLease {
    ClientLeaseRequest request;
    HolderId holder;
    MonotonicTime expires;
    MonotonicTime give_up_at;  // on waiting for workers
    Opened waiting;            // empty once it is open
    std::map<LeaseId, WorkerGrant> workers;
  };
  using Leases = std::map<LeaseId, ClientLease>;
  [[nodiscard]] Result<void> check(const ClientLeaseRequest& request) const;
  [[nodiscard]] Result<void> check_room(LeaseId id, const ClientLeaseRequest& request,
                                        MonotonicTime now);
  void add(LeaseId id, ClientLease lease);
  void settle(Leases::iterator lease, MonotonicTime now);
  [[nodiscard]] static bool is_at_one_executor(const ClientLease& lease);
  [[nodiscard]] bool keep_largest_part(ClientLease& lease, MonotonicTime now);
  void keep_members(ClientLease& lease, MonotonicTime now);
  void refuse_scattered(Leases::iterator found, MonotonicTime now);
  void remove(Leases::iterator lease, MonotonicTime now);
  [[nodiscard]] Result<Leases::const_iterator> find_own(uid_t tenant, LeaseId id) const;
  [[nodiscard]] static ClientLeaseView view_of(LeaseId id, const ClientLease& lease,
                                               MonotonicTime now);

  WorkerBroker& broker_;
  std::size_t workers_per_tenant_;
  Leases leases_;
  CallTraces traces_;
  std::map<HolderId, LeaseId> by_holder_;
  std::uint64_t next_holder_ = 1ULL << 32;  // beyond the dispatchers' ids
};

}  // namespace orchid::gateway
