#include "data/copy_plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace orchid::gateway {
namespace {

bool is_among(const std::vector<DataHolder>& holders, const ExecutorId& executor) {
  return std::ranges::find(holders, executor, &DataHolder::executor) != holders.end();
}

/// Has a copy, or is about to.
bool has(const DataObject& object, const CopyPlace& place) {
  return is_among(object.holders, place.holder.executor) ||
         is_among(object.arriving, place.holder.executor);
}

std::set<std::string> lasting_machines(const DataObject& object,
                                       std::span<const CopyPlace> places) {
  std::set<std::string> machines;
  for (const CopyPlace& place : places)
    if (place.stays && has(object, place)) machines.insert(place.machine);
  return machines;
}

}  // namespace

Distance distance_between(const Executor& left, const Executor& right) {
  if (left.host.boot_id == right.host.boot_id) return Distance::machine;
  const bool is_one_cluster =
      !left.grant.cluster.empty() && left.grant.cluster == right.grant.cluster;
  return is_one_cluster ? Distance::cluster : Distance::elsewhere;
}

std::size_t lasting_copies(const DataObject& object, std::span<const CopyPlace> places) {
  return lasting_machines(object, places).size();
}

std::optional<DataHolder> place_for_copy(const DataObject& object,
                                         std::span<const CopyPlace> places,
                                         const std::set<ExecutorId>& besides) {
  const std::set<std::string> machines = lasting_machines(object, places);
  if (machines.size() >= object.copies) return std::nullopt;
  const CopyPlace* best = nullptr;
  std::tuple<bool, MonotonicTime, std::uint64_t> best_rank;
  for (const CopyPlace& place : places) {
    const bool may = place.receives && place.stays && !has(object, place) &&
                     !machines.contains(place.machine) && !besides.contains(place.holder.executor);
    const std::tuple rank{place.free.value >= object.bytes.value, place.ends, place.free.value};
    if (!may || (best != nullptr && rank <= best_rank)) continue;
    best = &place;
    best_rank = rank;
  }
  return best == nullptr ? std::nullopt : std::optional(best->holder);
}

std::optional<DataHolder> best_for_call(std::span<const DataObject* const> objects,
                                        const std::set<ExecutorId>& besides) {
  struct Share {
    DataHolder holder;
    std::uint64_t bytes = 0;
    std::size_t count = 0;
  };
  std::map<ExecutorId, Share> shares;
  for (const DataObject* object : objects)
    for (const DataHolder& holder : object->holders) {
      if (besides.contains(holder.executor)) continue;
      Share& share = shares[holder.executor];
      share.holder = holder;
      share.bytes += object->bytes.value;
      ++share.count;
    }
  const auto best = std::ranges::max_element(shares, {}, [&](const auto& entry) {
    const Share& share = entry.second;
    // Who has all of them, of no bytes perhaps, needs no copy.
    return std::tuple(share.count == objects.size(), share.bytes, share.count);
  });
  return best == shares.end() ? std::nullopt : std::optional(best->second.holder);
}

std::vector<const DataObject*> missing_at(const ExecutorId& executor,
                                          std::span<const DataObject* const> objects) {
  std::vector<const DataObject*> missing;
  for (const DataObject* object : objects)
    if (!is_among(object->holders, executor)) missing.push_back(object);
  return missing;
}

}  // namespace orchid::gateway
