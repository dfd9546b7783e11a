#include "lane_client/attached_data.h"

#include <algorithm>
#include <utility>

namespace orchid::lane_client {

std::vector<DataId> AttachedData::ask(std::span<const DataId> data, MonotonicTime now) {
  std::vector<DataId> unknown;
  for (const DataId& id : data) {
    const auto [entry, is_new] = all_.try_emplace(id);
    entry->second.used = now;
    if (is_new) unknown.push_back(id);
  }
  waiting_ += unknown.size();
  return unknown;
}

bool AttachedData::has_all(std::span<const DataId> data) const {
  return std::ranges::all_of(data, [&](const DataId& id) {
    const auto entry = all_.find(id);
    return entry != all_.end() && entry->second.is_mapped;
  });
}

bool AttachedData::attached(const DataId& data) {
  const auto entry = all_.find(data);
  if (entry == all_.end() || std::exchange(entry->second.is_mapped, true)) return false;
  --waiting_;
  return true;
}

bool AttachedData::not_attached(const DataId& data) {
  const auto entry = all_.find(data);
  if (entry == all_.end()) return false;
  const bool was_asked_for = !entry->second.is_mapped;
  all_.erase(entry);
  if (was_asked_for) --waiting_;
  return was_asked_for;
}

void AttachedData::forget(std::span<const DataId> data) {
  for (const DataId& id : data) {
    const auto entry = all_.find(id);
    // One that has been asked for meanwhile is not asked for twice.
    if (entry != all_.end() && entry->second.is_mapped) all_.erase(entry);
  }
}

std::vector<DataId> AttachedData::take_unused(MonotonicTime before) {
  std::vector<DataId> unused;
  std::erase_if(all_, [&](const auto& entry) {
    const bool goes = entry.second.is_mapped && entry.second.used < before;
    if (goes) unused.push_back(entry.first);
    return goes;
  });
  return unused;
}

void AttachedData::clear() {
  all_.clear();
  waiting_ = 0;
}

}  // namespace orchid::lane_client
