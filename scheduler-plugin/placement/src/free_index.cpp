#include "free_index.h"

#include <bit>
#include <numeric>

namespace orchid::placement {

std::uint16_t memory_level(ByteCount memory) {
  const std::uint64_t mebibytes = memory.value >> 20;
  if (mebibytes < 8) return static_cast<std::uint16_t>(mebibytes);
  const int exponent = std::bit_width(mebibytes) - 1;
  const std::uint64_t eighths = (mebibytes >> (exponent - 3)) & 7;
  return static_cast<std::uint16_t>(static_cast<std::uint64_t>(exponent - 2) * 8 + eighths);
}

/// Whole watts; the last is for those that do not tell.
std::uint32_t FreeIndex::watts_level(double watts) {
  constexpr std::uint32_t unknown = CoreSet::limit - 1;
  if (watts == std::numeric_limits<double>::infinity()) return unknown;
  return static_cast<std::uint32_t>(std::clamp(watts, 0.0, unknown - 1.0));
}

std::optional<FreePosition> FreeIndex::find(SlotNumber slot) const {
  if (slot >= entries_.size() || !entries_[slot].used) return std::nullopt;
  return entries_[slot].position;
}

std::uint32_t FreeIndex::new_list() {
  if (unused_lists_.empty()) {
    lists_.emplace_back();
    return static_cast<std::uint32_t>(lists_.size() - 1);
  }
  const std::uint32_t list = unused_lists_.back();
  unused_lists_.pop_back();
  return list;
}

FreeIndex::Level& FreeIndex::level_for(const FreePosition& position) {
  const std::uint32_t gpus = std::min(position.gpus, most_gpus);
  if (position.host_class >= classes_.size()) classes_.resize(position.host_class + 1);
  auto& levels = classes_[position.host_class];
  if (gpus >= levels.size()) levels.resize(gpus + 1);
  return levels[gpus];
}

bool FreeIndex::may_have(std::span<const ClassNumber> classes, const Wanted& wanted) const {
  for (const ClassNumber host_class : classes)
    for (std::uint32_t gpus = std::min(wanted.gpus, most_gpus); gpus <= most_gpus; ++gpus) {
      const Level* const found = level(host_class, gpus);
      if (found == nullptr) break;  // there are none with more
      if (found->present.next(wanted.cores) < CoreSet::limit) return true;
    }
  return false;
}

std::uint32_t FreeIndex::gpu_levels(ClassNumber host_class) const {
  return host_class < classes_.size() ? static_cast<std::uint32_t>(classes_[host_class].size()) : 0;
}

std::size_t FreeIndex::count(ClassNumber host_class, std::uint32_t gpus,
                             std::uint32_t cores) const {
  const std::vector<std::uint32_t>& counts = classes_[host_class][gpus].counts;
  return std::accumulate(counts.begin(),
                         counts.begin() + std::min<std::ptrdiff_t>(std::ssize(counts), cores),
                         std::size_t{0});
}

void FreeIndex::enter_cell(SlotNumber slot, Entry& entry) {
  const FreePosition& position = entry.position;
  Level& level = level_for(position);
  if (position.cores >= level.cells.size()) {
    level.cells.resize(position.cores + 1);
    level.counts.resize(position.cores + 1);
  }
  Cell& cell = level.cells[position.cores];
  if (level.counts[position.cores]++ == 0) level.present.insert(position.cores);
  const std::uint64_t key = key_of(position.memory, end_of(position.until));
  auto group = first_from(cell, key);
  if (group == cell.end() || group->key != key)
    group = cell.insert(group, {.key = key, .list = new_list()});
  entry.list = group->list;
  entry.at = static_cast<std::uint32_t>(lists_[group->list].size());
  lists_[group->list].push_back(slot);
}

void FreeIndex::leave_cell(Entry& entry) {
  Slots& slots = lists_[entry.list];
  const SlotNumber last = slots.back();
  slots[entry.at] = last;
  entries_[last].at = entry.at;
  slots.pop_back();
  const FreePosition& position = entry.position;
  Level& level = level_for(position);
  Cell& cell = level.cells[position.cores];
  if (slots.empty()) {
    unused_lists_.push_back(entry.list);
    cell.erase(first_from(cell, key_of(position.memory, end_of(position.until))));
  }
  if (--level.counts[position.cores] == 0) level.present.erase(position.cores);
}

void FreeIndex::enter_watts(SlotNumber slot, Entry& entry) {
  if (entry.position.cores == 0) return;
  const std::uint32_t level = watts_level(entry.position.watts);
  if (level >= by_watts_.size()) by_watts_.resize(level + 1);
  Slots& slots = by_watts_[level];
  if (slots.empty()) watts_present_.insert(level);
  entry.watts_at = static_cast<std::uint32_t>(slots.size());
  slots.push_back(slot);
}

void FreeIndex::leave_watts(const Entry& entry) {
  if (entry.position.cores == 0) return;
  const std::uint32_t level = watts_level(entry.position.watts);
  Slots& slots = by_watts_[level];
  const SlotNumber last = slots.back();
  slots[entry.watts_at] = last;
  entries_[last].watts_at = entry.watts_at;
  slots.pop_back();
  if (slots.empty()) watts_present_.erase(level);
}

void FreeIndex::put(SlotNumber slot, const FreePosition& position) {
  if (slot >= entries_.size()) entries_.resize(slot + 1);
  Entry& entry = entries_[slot];
  if (entry.used && entry.position == position) return;
  const bool watts_stay = entry.used && entry.position.cores > 0 && position.cores > 0 &&
                          watts_level(entry.position.watts) == watts_level(position.watts);
  if (entry.used) {
    leave_cell(entry);
    if (!watts_stay) leave_watts(entry);
  } else {
    ++size_;
  }
  entry.used = true;
  entry.position = position;
  enter_cell(slot, entry);
  if (!watts_stay) enter_watts(slot, entry);
}

void FreeIndex::remove(SlotNumber slot) {
  if (slot >= entries_.size() || !entries_[slot].used) return;
  Entry& entry = entries_[slot];
  leave_cell(entry);
  leave_watts(entry);
  entry.used = false;
  --size_;
}

std::optional<std::string> FreeIndex::audit(std::size_t expected) const {
  std::size_t found = 0;
  std::size_t with_core = 0;
  const auto is_at = [&](SlotNumber slot, ClassNumber host_class, std::uint32_t gpus,
                         std::uint32_t cores, const Group& group) {
    const Entry& entry = entries_[slot];
    const FreePosition& at = entry.position;
    return entry.used && entry.list == group.list && lists_[group.list][entry.at] == slot &&
           at.host_class == host_class && std::min(at.gpus, most_gpus) == gpus &&
           at.cores == cores && key_of(at.memory, end_of(at.until)) == group.key;
  };
  for (ClassNumber host_class = 0; host_class < classes_.size(); ++host_class)
    for (std::uint32_t gpus = 0; gpus < classes_[host_class].size(); ++gpus) {
      const Level& level = classes_[host_class][gpus];
      for (std::uint32_t cores = 0; cores < level.cells.size(); ++cores) {
        const Cell& cell = level.cells[cores];
        std::size_t in_cell = 0;
        for (const Group& group : cell) {
          in_cell += lists_[group.list].size();
          for (const SlotNumber slot : lists_[group.list])
            if (!is_at(slot, host_class, gpus, cores, group))
              return "a cell of the index has what belongs elsewhere";
        }
        if (in_cell != level.counts[cores] || (in_cell == 0) == level.present.contains(cores))
          return "a cell of the index is miscounted";
        found += in_cell;
        with_core += cores > 0 ? in_cell : 0;
      }
    }
  std::size_t with_watts = 0;
  for (std::uint32_t level = 0; level < by_watts_.size(); ++level) {
    with_watts += by_watts_[level].size();
    for (const SlotNumber slot : by_watts_[level])
      if (watts_level(entries_[slot].position.watts) != level)
        return "the index by watts has what belongs elsewhere";
    if (by_watts_[level].empty() == watts_present_.contains(level))
      return "the index by watts is miscounted";
  }
  if (found != expected || size_ != expected || with_watts != with_core)
    return "the index has more or fewer grants than there are";
  return std::nullopt;
}

}  // namespace orchid::placement
