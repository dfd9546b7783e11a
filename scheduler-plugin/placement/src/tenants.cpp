#include "placement/tenants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

namespace orchid::placement {

double Tenants::average(const Entry& entry, MonotonicTime now) const {
  const auto held = static_cast<double>(entry.use.cores);
  if (half_life_.count() <= 0) return held;
  const std::chrono::duration<double> since = std::max(now, entry.changed) - entry.changed;
  const double kept = std::exp2(-since / std::chrono::duration<double>(half_life_));
  return held + (entry.past_cores - held) * kept;
}

/// Before its use changes.
void Tenants::change(Entry& entry, MonotonicTime now) const {
  entry.past_cores = average(entry, now);
  entry.changed = std::max(now, entry.changed);
}

void Tenants::set_terms(TenantId tenant, const TenantTerms& terms) {
  assert(terms.weight > 0 && "who reads the configuration checks it");
  entries_[tenant].terms = terms;
}

std::optional<std::string> Tenants::over_quota(TenantId tenant, const TenantUse& more) const {
  const auto found = entries_.find(tenant);
  if (found == entries_.end()) return std::nullopt;
  const auto& [quota, weight] = found->second.terms;
  const TenantUse& use = found->second.use;
  const auto over = [](std::string_view what, std::optional<std::uint32_t> limit,
                       std::uint32_t used, std::uint32_t wanted) -> std::optional<std::string> {
    if (!limit || wanted == 0 || std::uint64_t{used} + wanted <= *limit) return std::nullopt;
    return fmt::format("{}: {} of {} used, wanted {}", what, used, *limit, wanted);
  };
  if (auto cores = over("cores", quota.cores, use.cores, more.cores)) return cores;
  if (auto gpus = over("GPUs", quota.gpus, use.gpus, more.gpus)) return gpus;
  return over("leases", quota.leases, use.leases, more.leases);
}

void Tenants::take(TenantId tenant, const TenantUse& more, MonotonicTime now) {
  Entry& entry = entries_[tenant];
  change(entry, now);
  entry.use.cores += more.cores;
  entry.use.gpus += more.gpus;
  entry.use.leases += more.leases;
  entry.served = ++served_;
}

void Tenants::release(TenantId tenant, const TenantUse& less, MonotonicTime now) {
  Entry& entry = entries_[tenant];
  assert(entry.use.cores >= less.cores && entry.use.gpus >= less.gpus &&
         entry.use.leases >= less.leases);
  change(entry, now);
  entry.use.cores -= less.cores;
  entry.use.gpus -= less.gpus;
  entry.use.leases -= less.leases;
}

TenantUse Tenants::use(TenantId tenant) const {
  const auto found = entries_.find(tenant);
  return found == entries_.end() ? TenantUse{} : found->second.use;
}

double Tenants::share(TenantId tenant, MonotonicTime now) const {
  const auto found = entries_.find(tenant);
  if (found == entries_.end()) return 0;
  const Entry& entry = found->second;
  return std::max(average(entry, now), static_cast<double>(entry.use.cores)) / entry.terms.weight;
}

std::optional<TenantId> Tenants::next(std::span<const TenantId> waiting, MonotonicTime now) const {
  std::optional<TenantId> best;
  double least = 0;
  std::uint64_t longest_ago = 0;
  for (const TenantId tenant : waiting) {
    const double used = share(tenant, now);
    const auto found = entries_.find(tenant);
    const std::uint64_t served = found == entries_.end() ? 0 : found->second.served;
    if (best && std::tie(least, longest_ago, *best) <= std::tie(used, served, tenant)) continue;
    best = tenant;
    least = used;
    longest_ago = served;
  }
  return best;
}

}  // namespace orchid::placement
