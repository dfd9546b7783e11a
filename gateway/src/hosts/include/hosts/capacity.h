// hosts/capacity.h: which cores of which host may be used, through which executor. Plain data: no
// socket, no thread; time is passed in.
//
// Each executor is a grant of its host, under the executor's id: what it offers, for whom, and
// until when. The placement counts each core once, however many executors name it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hosts/host_book.h"
#include "placement/placement.h"

namespace orchid::gateway {

/// What somebody else than its executors knows of a host: the batch system that it belongs to.
struct HostFacts {
  placement::HostKind kind = placement::HostKind::cpu;
  std::string cluster{};
  std::vector<std::string> features;
  std::vector<placement::Gpu> gpus;
  placement::HostAllocation allocation;
};
class HostKnowledge {
 public:
  virtual ~HostKnowledge() = default;
  /// Of the host of these executors, one at least. Nothing: it is not known here.
  [[nodiscard]] virtual std::optional<HostFacts> facts_of(
      const std::vector<const Executor*>& executors) const = 0;
  /// Of the clusters that it knows, their names. Nothing: it does not know all of them yet.
  [[nodiscard]] virtual std::optional<std::set<std::string>> cluster_names() const {
    return std::set<std::string>();
  }
};

/// Owned by the control thread. `hosts`, and the knowledge in its options, outlive it.
class Capacity {
 public:
  using Losses = placement::Placement::Losses;
  struct Options {
    std::unique_ptr<placement::Policy> policy;  // null: `spread`
    const HostKnowledge* knowledge = nullptr;   // null: executors alone say what there is
    std::uint32_t cores_per_user = 0;           // leased at a time; 0: no limit
    /// By the tenant's name; others have weight 1, and no limit but `cores_per_user`.
    std::map<std::string, placement::TenantTerms> tenants{};
    std::chrono::milliseconds fair_share_half_life{0};
    std::optional<double> watts_per_host{};  // each is kept below it, where it tells what it draws
    double watts_per_core = 0;               // that one leased since the last report counts
  };
  Capacity(const HostBook& hosts, Options options);

  /// Makes the placement say of this host what the host book says: after an executor of it has
  /// joined, is lost, is back, has gone, or offers something else.
  [[nodiscard]] Losses refresh(const std::string& boot_id, MonotonicTime now);
  /// The same of what is known of these hosts from elsewhere, after that has changed.
  [[nodiscard]] Losses refresh_facts(const std::set<std::string>& boot_ids, MonotonicTime now);
  /// What the host's processors draw now, as one of its executors says.
  void report_power(const std::string& boot_id, std::uint64_t milliwatts);
  /// Takes back the grants whose end has come.
  [[nodiscard]] Losses expire(MonotonicTime now);

  /// From now on the tenant's quota and weight hold: to be called before it asks for anything.
  void welcome(const LeaseTenant& tenant);
  [[nodiscard]] placement::Decision place(const placement::Request& request, MonotonicTime now);
  /// Whether the request could be placed now; nothing is taken, and the decision is remembered.
  [[nodiscard]] placement::Decision try_out(const placement::Request& request, MonotonicTime now);
  /// Nothing, or why the tenant's quota never allows so many workers, whatever else he gives back.
  [[nodiscard]] std::optional<std::string> beyond_quota(const LeaseTenant& tenant,
                                                        const placement::WorkerRequest& worker,
                                                        std::uint32_t workers) const;
  /// A lease that an executor holds already. Errors: `no_capacity`: its cores are promised to
  /// somebody else, or are not the executor's.
  [[nodiscard]] Result<placement::DecisionId> adopt(const Executor& executor, const LeaseHeld& held,
                                                    MonotonicTime now);
  void close(placement::DecisionId lease, MonotonicTime now);
  /// A worker that has lost this place may be there still: nobody else's comes before it is
  /// vacated.
  void vacating(const placement::Place& place) { placement_.vacating(place); }
  void vacated(const placement::Place& place);

  /// Who is due next: the lower, the sooner.
  [[nodiscard]] double share(const LeaseTenant& tenant, MonotonicTime now) const;
  /// Counts whatever may have made room: as long as it stays, a refusal does.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] const placement::Placement& placement() const { return placement_; }
  /// Cores of the host in leases, also in those that are ending.
  [[nodiscard]] std::size_t cores_leased(const std::string& boot_id) const;
  /// Whether this tenant's functions may run there at all.
  [[nodiscard]] static bool serves(const Executor& executor, const LeaseTenant& tenant);
  /// Of these GPUs of the host; "" when they have none, or several.
  [[nodiscard]] std::string gpu_model(const std::string& boot_id, const CoreList& gpus) const;
  /// How many of them are of the model; "": any.
  [[nodiscard]] std::uint32_t count_gpus(const std::string& boot_id, const placement::CoreSet& gpus,
                                         const std::string& model) const;
  /// Of all clusters that hosts or their knowledge name. Nothing: some are not known yet.
  [[nodiscard]] std::optional<std::set<std::string>> cluster_names() const;
  /// What the host that this executor is on calls itself, or its batch system.
  [[nodiscard]] static const std::string& name_of(const Executor& executor);
  /// What constraints call it: the same, unless another host has that name already ("n1~2").
  [[nodiscard]] std::string host_name(const Executor& executor) const;
  /// Of its memory for data. `known`: what is in use there by the gateway's own books, which know
  /// first of what has just been ordered; the executor's word counts leases of memory, too. Where
  /// they differ, the larger use counts.
  [[nodiscard]] static ByteCount free_for_data(const Executor& executor, ByteCount known);

 private:
  [[nodiscard]] placement::Host host_of(const std::vector<const Executor*>& executors,
                                        const HostFacts& facts) const;
  [[nodiscard]] HostFacts facts_of(const std::vector<const Executor*>& executors) const;
  [[nodiscard]] static placement::Grant grant_of(const Executor& executor);
  [[nodiscard]] std::string free_name(const std::string& name, const std::string& boot_id) const;
  [[nodiscard]] std::optional<placement::TenantTerms> terms_of(const LeaseTenant& tenant) const;

  const HostBook& hosts_;
  const HostKnowledge* knowledge_;
  std::uint32_t cores_per_user_;
  std::map<std::string, placement::TenantTerms> tenants_;
  std::optional<double> watts_per_host_;
  double watts_per_core_;
  bool power_counts_;  // somebody has set a bound on it: who was refused may have room now
  placement::Placement placement_;
  std::uint64_t version_ = 1;
};

[[nodiscard]] placement::TenantId tenant_of(const LeaseTenant& tenant);
/// Of its cores.
[[nodiscard]] uid_t owner_of(const Executor& executor);
/// What an executor tells of its grant, as far as it may: one with the token of the gateway's own
/// user speaks for whoever granted the cores; that of another tenant has its own, and for itself
/// alone, since it could read what others' functions do there.
[[nodiscard]] GrantTerms believed(GrantTerms told, uid_t teller, uid_t gateway_owner);

/// Numbers that placement cannot hold are left out.
[[nodiscard]] placement::CoreSet core_set(const CoreList& list);
/// The indices of the GPUs that the executor offers.
[[nodiscard]] placement::CoreSet gpu_set(const HostDescription& host);

}  // namespace orchid::gateway
