// placement/placement.h: where workers go. Plain decisions over plain data: no socket, no thread,
// no clock; time is passed in.
//
// Invariants, whatever the order of events: a core or GPU of a host is in one lease at most; it is
// granted, and Slurm gave it to no other job than the grant's own; the memory in leases is within
// the grant's and within what Slurm leaves of the host's. What an event makes untrue is undone by
// it: the workers that lose their place are returned.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "placement/explanation.h"
#include "placement/policy.h"
#include "placement/tenants.h"

namespace orchid::placement {

/// Owned by one thread.
class Placement {
 public:
  struct Options {
    // For `explain`: of open leases, and the newest of all others. An explanation takes some 0.5
    // KiB, a refusal with the findings of 32 grants 5 KiB.
    std::size_t remembered_leases = 131'072;
    std::size_t remembered_decisions = 4096;
    std::chrono::milliseconds fair_share_half_life{0};
  };
  Placement(std::unique_ptr<Policy> policy, const Options& options);
  explicit Placement(std::unique_ptr<Policy> policy);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  using Losses = std::vector<Displaced>;

  // Hosts. Errors: `not_found` (no such host); `bad_request` (numbers out of range, a name that is
  // another host's).
  /// Enters it, or says anew what it is like.
  [[nodiscard]] Result<Losses> put_host(Host host, MonotonicTime now);
  /// Its grants go with it.
  [[nodiscard]] Result<Losses> remove_host(const HostId& id, MonotonicTime now);
  /// No answer from it: nothing new is placed there. Its leases stay, since it may come back with
  /// them; who is tired of waiting removes it.
  [[nodiscard]] Result<void> lose_host(const HostId& id);
  [[nodiscard]] Result<void> return_host(const HostId& id);
  /// What it draws now (RAPL). Nothing: unknown.
  [[nodiscard]] Result<void> report_watts(const HostId& id, std::optional<double> watts);

  // Grants. Errors: `not_found` (no such host, no such grant).
  /// Enters it, or says anew what it holds: a share shrinks, a pilot is renewed.
  [[nodiscard]] Result<Losses> put_grant(Grant grant, MonotonicTime now);
  /// A reclaim.
  [[nodiscard]] Result<Losses> remove_grant(const GrantId& id, MonotonicTime now);
  /// Removes the grants whose end has come.
  [[nodiscard]] Losses expire(MonotonicTime now);

  /// What Slurm gave to whom on these hosts now. Hosts that are not named keep what they have;
  /// those that are not known are passed over.
  [[nodiscard]] Losses apply(std::span<const HostAllocation> allocations, MonotonicTime now);

  // Leases.
  [[nodiscard]] Decision open(const Request& request, MonotonicTime now);
  /// A lease that exists already, as its executor says. Errors: `not_found` (host or grant),
  /// `no_capacity` (something of it is not granted, or is another's).
  [[nodiscard]] Result<DecisionId> adopt(TenantId tenant, const std::vector<Place>& places,
                                         MonotonicTime now);
  /// Errors: `not_found`.
  [[nodiscard]] Result<void> close(DecisionId lease, MonotonicTime now);
  /// A worker that has lost this place may be there still: nobody else gets its cores and GPUs
  /// before `vacated` is said of it. Its memory is others' at once. Of a host that is not known,
  /// nothing is kept.
  void vacating(const Place& place);
  void vacated(const Place& place);
  /// Its places; nothing when there is no such lease.
  [[nodiscard]] std::optional<std::vector<Place>> find(DecisionId lease) const;

  // Tenants.
  void set_terms(TenantId tenant, const TenantTerms& terms);
  [[nodiscard]] const Tenants& tenants() const;

  void set_policy(std::unique_ptr<Policy> policy);

  /// Errors: `not_found`, once it is forgotten: never while the lease is open, but for the number
  /// of these (`Options`).
  [[nodiscard]] Result<Explanation> explain(DecisionId id) const;
  [[nodiscard]] bool remembers(DecisionId id) const;
  /// What would be said of every grant now, and of hosts without any: for people, since it looks at
  /// all of them.
  [[nodiscard]] std::vector<HostReason> consider(const Request& request, std::uint32_t alternative,
                                                 MonotonicTime now) const;

  struct HostView {
    Host host;
    bool lost = false;
    bool drained = false;
    std::optional<double> watts;  // expected
    CoreSet granted;              // by any grant, and not another job's
    CoreSet leased;               // or being vacated
    CoreSet gpus_granted;
    CoreSet gpus_leased;   // or being vacated
    CoreSet gpus_of_jobs;  // what jobs have and do not grant
    std::vector<GrantId> grants;
  };
  [[nodiscard]] std::optional<HostView> host(const HostId& id) const;
  /// Whether so many workers like the first alternative would fit into the grant if these leases
  /// had ended; quotas and the policy aside.
  [[nodiscard]] bool would_fit(const GrantId& grant, const Request& request,
                               std::span<const DecisionId> ended, MonotonicTime now) const;
  /// As it was put; null: it is not known. Valid until the placement changes.
  [[nodiscard]] const Host* description(const HostId& id) const;
  [[nodiscard]] std::optional<HostId> host_named(std::string_view name) const;
  [[nodiscard]] std::size_t lease_count() const;

  /// Counts everything again from the leases, the grants and the allocations, and compares. Nothing
  /// when all is as it should be, else what is not. For tests and for diagnosis.
  [[nodiscard]] std::optional<std::string> audit() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace orchid::placement
