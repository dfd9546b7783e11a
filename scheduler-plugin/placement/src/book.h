// book.h: hosts, grants, allocations and leases, and the indexes over them.
//
// Each grant has a slot. A slot's free cores are those that are granted, that no other job has, and
// that no lease has through whatever grant of the host, nor a worker that has lost its lease;
// `settle` makes it so again after an event, and drops the workers that are then in the wrong
// place.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "free_index.h"
#include "needs.h"
#include "placement/request.h"

namespace orchid::placement {

/// A worker of a lease.
struct WorkerEntry {
  SlotNumber slot = 0;
  CoreSet cores;
  CoreSet gpus;
  ByteCount memory;
  std::uint32_t alternative = 0;
};

struct LeaseEntry {
  TenantId tenant;
  std::vector<WorkerEntry> workers;
};

/// A search reads the first line of many, which are seldom in a cache.
struct alignas(64) Slot {
  Reason unavailable = Reason::fits;  // why it is not in the index
  bool used = false;                  // else the number waits for another grant
  HostNumber host = 0;
  ClassNumber host_class = 0;
  CoreSet free;  // as `free_gpus`, `placed` and `memory_free`: changes with each lease
  ByteCount memory_free;
  ByteCount placed;  // memory
  CoreSet free_gpus;
  CoreSet usable;  // granted, the host has them, and no other job
  CoreSet usable_gpus;
  std::vector<DecisionId> leases;       // once for each worker
  std::optional<ByteCount> job_memory;  // of its own job; nothing where Slurm does not count it
  Grant grant;
};

struct alignas(64) HostEntry {
  CoreSet leased;  // or kept back
  std::vector<SlotNumber> slots;
  bool used = false;
  bool lost = false;
  bool drained = false;
  CoreSet leased_gpus;
  CoreSet kept_back;  // no lease has them, but workers that lost theirs
  CoreSet kept_back_gpus;
  std::vector<JobAllocation> jobs;
  std::int64_t cores_since_report = 0;  // leased less closed
  std::optional<double> watts;          // as reported
  Host description;
  std::uint32_t cluster = 0;
  std::uint32_t architecture = 0;
  CoreSet features;
  CoreSet cores;
  CoreSet gpus;
  std::vector<CoreSet> numa_cores;                                  // by node
  std::vector<std::pair<std::uint32_t, std::uint32_t>> gpu_models;  // index, number of the model
  [[nodiscard]] std::optional<double> expected_watts() const;
};

/// May throw as far as the standard library knows, and so makes its tables keep the hash of each
/// entry: a look-up then touches no string but the one that it finds.
struct TextHash {
  template <typename Tag>
  std::size_t operator()(const StrongId<Tag, std::string>& id) const {
    return std::hash<std::string>{}(id.value());
  }
};

/// What one event takes away, by lease.
class LossList {
 public:
  [[nodiscard]] Displaced& of(DecisionId id, TenantId tenant);
  [[nodiscard]] std::vector<Displaced> take() { return std::move(all_); }

 private:
  std::vector<Displaced> all_;
  std::unordered_map<DecisionId, std::size_t> positions_;
};

/// Owned by the Placement.
class Book {
 public:
  // Names.
  [[nodiscard]] const Names& clusters() const { return clusters_; }
  [[nodiscard]] const Names& architectures() const { return architectures_; }
  [[nodiscard]] const Names& features() const { return features_; }
  [[nodiscard]] const Names& models() const { return models_; }

  // Hosts.
  [[nodiscard]] std::optional<HostNumber> find_host(const HostId& id) const;
  [[nodiscard]] std::optional<HostNumber> host_named(const std::string& name) const;
  [[nodiscard]] const HostEntry& host(HostNumber number) const { return hosts_[number]; }
  [[nodiscard]] const std::vector<HostEntry>& hosts() const { return hosts_; }
  [[nodiscard]] std::size_t host_count() const { return host_numbers_.size(); }
  [[nodiscard]] Result<void> put_host(Host description, LossList& losses);
  void remove_host(HostNumber number, LossList& losses);
  void set_lost(HostNumber number, bool lost);
  void set_watts(HostNumber number, std::optional<double> watts);
  /// True: something changed.
  bool set_allocation(HostNumber number, const HostAllocation& allocation, LossList& losses);

  // Grants.
  [[nodiscard]] std::optional<SlotNumber> find_grant(const GrantId& id) const;
  [[nodiscard]] const Slot& slot(SlotNumber number) const { return slots_[number]; }
  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
  void put_grant(Grant grant, HostNumber host, LossList& losses);
  void remove_grant(SlotNumber number, LossList& losses);
  [[nodiscard]] std::optional<SlotNumber> ended(MonotonicTime now) const;
  [[nodiscard]] CoreSet gpus_of_model(const Slot& slot, std::uint32_t model) const;
  /// Of the host, what jobs have and do not grant.
  [[nodiscard]] CoreSet gpus_of_jobs(const HostEntry& host) const;

  // Leases.
  /// The worker's cores, GPUs and memory are free.
  void take(DecisionId id, TenantId tenant, WorkerEntry worker);
  void close(DecisionId id);
  /// Cores and GPUs that no lease has any more.
  void keep_back(HostNumber number, const CoreSet& cores, const CoreSet& gpus);
  void let_go(HostNumber number, const CoreSet& cores, const CoreSet& gpus);
  [[nodiscard]] const LeaseEntry* find_lease(DecisionId id) const;
  [[nodiscard]] const std::unordered_map<DecisionId, LeaseEntry>& leases() const { return leases_; }
  /// The slot as it would be if these leases had ended.
  [[nodiscard]] Slot without(SlotNumber number, std::span<const DecisionId> ended) const;
  [[nodiscard]] Place place_of(const WorkerEntry& worker) const;

  // Indexes.
  [[nodiscard]] const FreeIndex& index() const { return index_; }
  [[nodiscard]] const HostClasses& classes() const { return classes_; }
  [[nodiscard]] std::size_t unavailable(Reason reason) const {
    return unavailable_[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::size_t hosts_without_grant() const { return hosts_without_grant_; }
  /// Where the slot must stand in the index.
  [[nodiscard]] FreePosition position_of(const Slot& slot) const;
  /// Nothing when all counts and indexes are as a recount has them.
  [[nodiscard]] std::optional<std::string> audit() const;

 private:
  void describe(HostEntry& host, Host description);
  void classify(Slot& slot);
  void settle(HostNumber number, LossList& losses);
  void find_usable(const HostEntry& host, Slot& slot) const;
  [[nodiscard]] ByteCount granted_memory(const HostEntry& host, const JobId& job) const;
  void drop_misplaced(const HostEntry& host, LossList& losses);
  void drop_overcommitted(const HostEntry& host, LossList& losses);
  [[nodiscard]] std::vector<SlotNumber> overcommitted(const HostEntry& host) const;
  [[nodiscard]] static bool same_pool(const Slot& left, const Slot& right);
  [[nodiscard]] ByteCount pool_memory(const HostEntry& host, const Slot& slot) const;
  [[nodiscard]] ByteCount pool_placed(const HostEntry& host, const Slot& slot) const;
  [[nodiscard]] ByteCount memory_left(const HostEntry& host, const Slot& slot,
                                      ByteCount placed_in_pool) const;
  template <typename Misplaced>
  void drop_workers(DecisionId id, const Misplaced& misplaced, LossList& losses);
  void give_back(DecisionId id, const WorkerEntry& worker);
  void refresh_slots(HostNumber number);
  void set_unavailable(Slot& slot, Reason reason);
  [[nodiscard]] Reason availability(const HostEntry& host, const Slot& slot) const;

  Names clusters_;
  Names architectures_;
  Names features_;
  Names models_;
  HostClasses classes_;
  FreeIndex index_;
  std::vector<HostEntry> hosts_;
  std::vector<HostNumber> unused_hosts_;
  std::unordered_map<HostId, HostNumber, TextHash> host_numbers_;
  std::unordered_map<std::string, HostNumber> host_names_;
  std::vector<Slot> slots_;
  std::vector<SlotNumber> unused_slots_;
  std::unordered_map<GrantId, SlotNumber, TextHash> slot_numbers_;
  std::set<std::pair<MonotonicTime, SlotNumber>> ends_;  // of grants that have one
  std::unordered_map<DecisionId, LeaseEntry> leases_;
  std::array<std::size_t, reason_count> unavailable_{};
  std::size_t hosts_without_grant_ = 0;
};

}  // namespace orchid::placement
