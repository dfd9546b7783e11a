#include "call_slots.h"

#include <algorithm>

#include "flow/usable_hosts.h"

namespace orchid::flow {
namespace {

/// Without what makes no difference here.
Constraints place_of(const Constraints& where) {
  return {.kind = where.kind, .cluster = where.cluster};
}

std::uint32_t at(const CallSlots::Counts& counts, const Constraints& place) {
  const auto found = counts.find(place);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

/// Those of one place may be on hosts that those of another one may use, too: so all of them have
/// no more than all hosts.
bool CallSlots::has_room(const Constraints& where) {
  const Constraints place = place_of(where);
  const std::uint32_t running = at(running_, place);
  if (running == 0) return true;
  std::uint32_t all = slots({});
  for (const auto& [other, count] : had_)
    if (other != Constraints{}) all += count;
  return running < slots(place) && all_running_ < all;
}

std::uint32_t CallSlots::slots(const Constraints& where) {
  auto found = free_.find(where);
  if (found == free_.end()) found = free_.emplace(where, free_cores(where, hosts_)).first;
  return found->second + at(had_, where);
}

void CallSlots::begin(const Constraints& where) {
  ++running_[place_of(where)];
  ++all_running_;
}

void CallSlots::end(const Constraints& where) {
  const auto found = running_.find(place_of(where));
  if (--found->second == 0) running_.erase(found);
  --all_running_;
}

void CallSlots::see(std::vector<HostSituation> hosts, const Counts& before) {
  hosts_ = std::move(hosts);
  free_.clear();
  had_.clear();
  // Those that began meanwhile may have no core yet.
  for (const auto& [place, count] : before)
    if (const std::uint32_t both = std::min(count, at(running_, place)); both != 0)
      had_.emplace(place, both);
}

}  // namespace orchid::flow
