// free_index.h: the grants that may get work, by how much they have free.
//
// By class, free GPUs and free cores there is a cell; in it, groups of grants with about the same
// free memory (steps of an eighth) and about the same end (steps of 30 s). Within a group there is
// no order, so that a grant moves in a time that does not depend on how many there are.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "host_classes.h"

namespace orchid::placement {

using SlotNumber = std::uint32_t;  // of a grant, in the Book

/// Grows with the amount; neighbours differ by an eighth at most.
[[nodiscard]] std::uint16_t memory_level(ByteCount memory);

/// Where a grant stands.
struct FreePosition {
  ClassNumber host_class = 0;
  std::uint32_t gpus = 0;
  std::uint32_t cores = 0;
  std::uint16_t memory = 0;  // level
  MonotonicTime until;
  double watts = std::numeric_limits<double>::infinity();  // unknown
  friend bool operator==(const FreePosition&, const FreePosition&) = default;
};

class FreeIndex {
 public:
  static constexpr std::uint32_t most_gpus = 16;  // those with more stand with these

  /// Enters or moves it.
  void put(SlotNumber slot, const FreePosition& position);
  void remove(SlotNumber slot);
  [[nodiscard]] std::optional<FreePosition> find(SlotNumber slot) const;
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Nothing when it is as its positions say, with so many grants.
  [[nodiscard]] std::optional<std::string> audit(std::size_t expected) const;

  /// At least so much, so long. Those at the edge of their group may have a little less.
  struct Wanted {
    std::uint32_t gpus = 0;
    std::uint32_t cores = 1;
    std::uint16_t memory = 0;  // level
    MonotonicTime until;
  };
  /// False: nothing has so many cores and GPUs free.
  [[nodiscard]] bool may_have(std::span<const ClassNumber> classes, const Wanted& wanted) const;
  enum class Visit : std::uint8_t { next, leave_group, stop };
  /// Calls `visitor(slot)` until it says stop; then the answer is true. Few GPUs come first, so
  /// that they stay free for those that want them; then cores, ascending or descending; then
  /// classes as given, little memory, and late ends.
  template <typename Visitor>
  bool visit(std::span<const ClassNumber> classes, const Wanted& wanted, bool descending,
             const Visitor& visitor) const;
  /// The same for those with a free core, of all classes, by their watts, ascending.
  template <typename Visitor>
  bool visit_by_watts(const Visitor& visitor) const;

  // Counting, for explanations. `gpus` is below `gpu_levels`.
  [[nodiscard]] std::uint32_t gpu_levels(ClassNumber host_class) const;
  /// Grants with so many free GPUs and less than `cores` free cores.
  [[nodiscard]] std::size_t count(ClassNumber host_class, std::uint32_t gpus,
                                  std::uint32_t cores = CoreSet::limit) const;
  /// Calls `visitor(slot)` for those with `first` to `last` free cores, as `visit` does.
  template <typename Visitor>
  bool visit_level(ClassNumber host_class, std::uint32_t gpus, std::uint32_t first,
                   std::uint32_t last, const Visitor& visitor) const;

 private:
  using Slots = std::vector<SlotNumber>;
  struct Group {
    std::uint64_t key = 0;   // memory, ascending, then end, descending
    std::uint32_t list = 0;  // of its slots
  };
  using Cell = std::vector<Group>;  // by key; none is empty
  struct Level {                    // of free GPUs
    CoreSet present;  // numbers of free cores of which there is a cell that is not empty
    std::vector<Cell> cells;
    std::vector<std::uint32_t> counts;  // of grants in each cell
  };
  struct Entry {
    bool used = false;
    FreePosition position;
    std::uint32_t list = 0;
    std::uint32_t at = 0;        // in the list
    std::uint32_t watts_at = 0;  // in the list of its watts, if it has a free core
  };

  [[nodiscard]] static std::uint64_t end_of(MonotonicTime until);
  [[nodiscard]] static std::uint64_t key_of(std::uint16_t memory, std::uint64_t end);
  [[nodiscard]] static std::uint32_t watts_level(double watts);
  [[nodiscard]] static std::vector<Group>::const_iterator first_from(const Cell& cell,
                                                                     std::uint64_t key);
  template <typename Visitor>
  [[nodiscard]] static bool visit_slots(const Slots& slots, const Visitor& visitor);
  template <typename Visitor>
  bool visit_cell(const Cell& cell, const Wanted& wanted, const Visitor& visitor) const;
  template <typename Visitor>
  bool visit_cores(std::span<const ClassNumber> classes, std::uint32_t gpus, std::uint32_t cores,
                   const Wanted& wanted, const Visitor& visitor) const;
  [[nodiscard]] const Level* level(ClassNumber host_class, std::uint32_t gpus) const;
  [[nodiscard]] Level& level_for(const FreePosition& position);
  void enter_cell(SlotNumber slot, Entry& entry);
  void leave_cell(Entry& entry);
  void enter_watts(SlotNumber slot, Entry& entry);
  void leave_watts(const Entry& entry);
  [[nodiscard]] std::uint32_t new_list();

  std::vector<std::vector<Level>> classes_;  // [class][free GPUs]
  std::vector<Slots> lists_;
  std::vector<std::uint32_t> unused_lists_;
  std::vector<Entry> entries_;  // by slot
  std::vector<Slots> by_watts_;
  CoreSet watts_present_;
  std::size_t size_ = 0;
};

constexpr std::uint64_t latest_end = (1ULL << 48) - 1;

inline std::uint64_t FreeIndex::key_of(std::uint16_t memory, std::uint64_t end) {
  return std::uint64_t{memory} << 48 | (latest_end - end);
}

inline std::uint64_t FreeIndex::end_of(MonotonicTime until) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(until.time_since_epoch());
  return std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(0, seconds.count())) / 30,
                  latest_end);
}

inline std::vector<FreeIndex::Group>::const_iterator FreeIndex::first_from(const Cell& cell,
                                                                           std::uint64_t key) {
  return std::lower_bound(
      cell.begin(), cell.end(), key,
      [](const Group& group, std::uint64_t wanted) { return group.key < wanted; });
}

template <typename Visitor>
bool FreeIndex::visit_slots(const Slots& slots, const Visitor& visitor) {
  for (const SlotNumber slot : slots) {
    const Visit what = visitor(slot);
    if (what == Visit::leave_group) break;
    if (what == Visit::stop) return true;
  }
  return false;
}

template <typename Visitor>
bool FreeIndex::visit_cell(const Cell& cell, const Wanted& wanted, const Visitor& visitor) const {
  const std::uint64_t end = end_of(wanted.until);
  auto group = first_from(cell, key_of(wanted.memory, latest_end));
  while (group != cell.end()) {
    if (latest_end - (group->key & latest_end) < end) {  // so do all after it with this memory
      group = first_from(cell, ((group->key >> 48) + 1) << 48);
      continue;
    }
    if (visit_slots(lists_[group->list], visitor)) return true;
    ++group;
  }
  return false;
}

inline const FreeIndex::Level* FreeIndex::level(ClassNumber host_class, std::uint32_t gpus) const {
  if (host_class >= classes_.size() || gpus >= classes_[host_class].size()) return nullptr;
  return &classes_[host_class][gpus];
}

template <typename Visitor>
bool FreeIndex::visit_cores(std::span<const ClassNumber> classes, std::uint32_t gpus,
                            std::uint32_t cores, const Wanted& wanted,
                            const Visitor& visitor) const {
  for (const ClassNumber host_class : classes) {
    const Level* const found = level(host_class, gpus);
    if (found != nullptr && found->present.contains(cores) &&
        visit_cell(found->cells[cores], wanted, visitor))
      return true;
  }
  return false;
}

template <typename Visitor>
bool FreeIndex::visit(std::span<const ClassNumber> classes, const Wanted& wanted, bool descending,
                      const Visitor& visitor) const {
  for (std::uint32_t gpus = std::min(wanted.gpus, most_gpus); gpus <= most_gpus; ++gpus) {
    CoreSet present;
    for (const ClassNumber host_class : classes)
      if (const Level* const found = level(host_class, gpus)) present |= found->present;
    std::uint32_t cores =
        descending ? present.previous(CoreSet::limit - 1) : present.next(wanted.cores);
    while (cores < CoreSet::limit && cores >= wanted.cores) {
      if (visit_cores(classes, gpus, cores, wanted, visitor)) return true;
      if (descending && cores == 0) break;
      cores = descending ? present.previous(cores - 1) : present.next(cores + 1);
    }
  }
  return false;
}

template <typename Visitor>
bool FreeIndex::visit_by_watts(const Visitor& visitor) const {
  for (std::uint32_t at = watts_present_.next(0); at < CoreSet::limit;
       at = watts_present_.next(at + 1))
    if (visit_slots(by_watts_[at], visitor)) return true;
  return false;
}

template <typename Visitor>
bool FreeIndex::visit_level(ClassNumber host_class, std::uint32_t gpus, std::uint32_t first,
                            std::uint32_t last, const Visitor& visitor) const {
  const Level* const found = level(host_class, gpus);
  if (found == nullptr) return false;
  for (std::uint32_t cores = found->present.next(first); cores < CoreSet::limit && cores <= last;
       cores = found->present.next(cores + 1))
    for (const Group& group : found->cells[cores])
      if (visit_slots(lists_[group.list], visitor)) return true;
  return false;
}

}  // namespace orchid::placement
