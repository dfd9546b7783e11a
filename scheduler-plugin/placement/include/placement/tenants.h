// placement/tenants.h: what each tenant has, may have at most, and is due next.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "placement/request.h"

namespace orchid::placement {

/// Nothing: no limit.
struct Quota {
  std::optional<std::uint32_t> cores;
  std::optional<std::uint32_t> gpus;
  std::optional<std::uint32_t> leases;
};

struct TenantTerms {
  Quota quota;
  double weight = 1;  // above 0: with 2, due twice as much as with 1
};

struct TenantUse {
  std::uint32_t cores = 0;
  std::uint32_t gpus = 0;
  std::uint32_t leases = 0;
  friend bool operator==(const TenantUse&, const TenantUse&) = default;
};

/// Owned by the thread that owns the Placement.
class Tenants {
 public:
  /// `half_life`: for how long use in the past counts, too; 0: only what is held now.
  explicit Tenants(std::chrono::milliseconds half_life) : half_life_(half_life) {}

  void set_terms(TenantId tenant, const TenantTerms& terms);
  /// Nothing, or what the quota leaves too little of: "cores: 30 of 32 used, wanted 4".
  [[nodiscard]] std::optional<std::string> over_quota(TenantId tenant, const TenantUse& more) const;
  void take(TenantId tenant, const TenantUse& more, MonotonicTime now);
  void release(TenantId tenant, const TenantUse& less, MonotonicTime now);
  [[nodiscard]] TenantUse use(TenantId tenant) const;

  /// Who gets the next core: of those that wait, the one with the least use for its weight; among
  /// equals, who was served longest ago, then the lowest id. Nothing when nobody waits.
  [[nodiscard]] std::optional<TenantId> next(std::span<const TenantId> waiting,
                                             MonotonicTime now) const;
  /// Use for the weight, in cores, as `next` compares it.
  [[nodiscard]] double share(TenantId tenant, MonotonicTime now) const;

 private:
  struct Entry {
    TenantTerms terms;
    TenantUse use;
    double past_cores = 0;  // decayed average, as of `changed`
    MonotonicTime changed;
    std::uint64_t served = 0;  // when it last got something, in a count of all that were served
  };
  [[nodiscard]] double average(const Entry& entry, MonotonicTime now) const;
  void change(Entry& entry, MonotonicTime now) const;

  std::chrono::milliseconds half_life_;
  std::unordered_map<TenantId, Entry> entries_;
  std::uint64_t served_ = 0;
};

}  // namespace orchid::placement
