#include "bandwidth/memory_traffic.h"

#include <unistd.h>

#include <algorithm>

namespace orchid::executor {
namespace {

constexpr double nothing = 1e6;  // bytes per second

double per_second(const Touched& touched) {
  const double time = std::chrono::duration<double>(touched.cpu).count();
  return time > 0 ? static_cast<double>(touched.bytes.value) / time : 0;
}

}  // namespace

Touched without_cost(Touched measured, std::chrono::nanoseconds per_page) {
  const auto pages = measured.bytes.value / static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto cost = per_page * static_cast<std::int64_t>(pages);
  return {measured.bytes, std::max(measured.cpu - cost, measured.cpu / 10)};
}

std::optional<double> rate_of(const Touched& shortly, ByteCount cache) {
  if (shortly.bytes <= cache) return std::nullopt;
  return per_second(shortly);
}

double rate_of(const Touched& shortly, const Touched& longer, ByteCount cache) {
  if (longer.bytes <= cache) return 0;
  return std::max(per_second(shortly), per_second(longer));
}

double MemoryTraffic::rate(const std::string& module) const {
  const auto found = known_.find(module);
  return found == known_.end() ? 0 : found->second.rate;
}

bool MemoryTraffic::is_due(const std::string& module, MonotonicTime now) const {
  const auto found = known_.find(module);
  return found == known_.end() || now >= found->second.again;
}

MemoryTraffic::Known& MemoryTraffic::entry(const std::string& module) {
  if (!known_.contains(module) && known_.size() >= most_modules)
    known_.erase(std::ranges::min_element(known_, {}, [](const auto& k) { return k.second.at; }));
  return known_[module];
}

void MemoryTraffic::measured(const std::string& module, double rate, std::chrono::nanoseconds cost,
                             MonotonicTime now) {
  Known& known = entry(module);
  const bool is_first = known.interval.count() == 0;
  const bool changes = (known.rate > 0) != (rate > 0);
  known.rate = std::max(rate, (known.rate + rate) / 2);
  if (rate == 0 && known.rate < nothing) known.rate = 0;
  known.at = now;
  // What stays as it is is looked at less and less often.
  const std::chrono::nanoseconds longer = changes ? soonest_again : known.interval * 2;
  const auto affordable = std::chrono::nanoseconds(
      static_cast<std::int64_t>(static_cast<double>(cost.count()) / cost_share));
  known.interval = std::clamp<std::chrono::nanoseconds>(longer, soonest_again, latest_again);
  if (!is_first) known.interval = std::max(known.interval, affordable);
  known.again = now + std::chrono::duration_cast<MonotonicTime::duration>(known.interval);
}

void MemoryTraffic::not_measured(const std::string& module, MonotonicTime now) {
  Known& known = entry(module);
  known.at = now;
  known.again = now + soonest_again;
}

}  // namespace orchid::executor
