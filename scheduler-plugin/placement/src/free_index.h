// free_index.h: the grants that may get work, by how much they have free: by class, then free GPUs,
// then free cores, then free memory in steps of an eighth, then end, the latest first.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
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

  struct Entry {
    std::uint16_t memory = 0;
    MonotonicTime until;
    SlotNumber slot = 0;
    friend bool operator<(const Entry& left, const Entry& right) {
      if (left.memory != right.memory) return left.memory < right.memory;
      if (left.until != right.until) return left.until > right.until;
      return left.slot < right.slot;
    }
  };
  using Cell = std::set<Entry>;

  /// Enters or moves it.
  void put(SlotNumber slot, const FreePosition& position);
  void remove(SlotNumber slot);
  [[nodiscard]] std::optional<FreePosition> find(SlotNumber slot) const {
    return slot < positions_.size() ? positions_[slot] : std::nullopt;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Nothing when it is as its positions say, with so many grants.
  [[nodiscard]] std::optional<std::string> audit(std::size_t expected) const;

  /// At least so much, so long.
  struct Wanted {
    std::uint32_t gpus = 0;
    std::uint32_t cores = 1;
    std::uint16_t memory = 0;  // level: those of just this level may have too little
    MonotonicTime until;
  };
  /// Calls `visit(slot)` until it returns true. Few GPUs come first, so that they stay free for
  /// those that want them; then cores, ascending or descending; classes as given.
  template <typename Visit>
  bool visit(std::span<const ClassNumber> classes, const Wanted& wanted, bool descending,
             const Visit& visit) const;
  /// The same for those with a free core, by their watts, ascending; of all classes.
  template <typename Visit>
  bool visit_by_watts(const Visit& visit) const {
    for (const auto& [watts, slot] : by_watts_)
      if (visit(slot)) return true;
    return false;
  }
  /// Calls `visit(gpus, cores, cell)` for each cell of the class that is not empty.
  template <typename Visit>
  void for_each_cell(ClassNumber host_class, const Visit& visit) const;

 private:
  struct Level {      // of free GPUs
    CoreSet present;  // numbers of free cores of which there is a cell that is not empty
    std::vector<Cell> cells;
  };
  template <typename Visit>
  static bool visit_cell(const Cell& cell, const Wanted& wanted, const Visit& visit);
  template <typename Visit>
  bool visit_cores(std::span<const ClassNumber> classes, std::uint32_t gpus, std::uint32_t cores,
                   const Wanted& wanted, const Visit& visit) const;
  [[nodiscard]] const Level* level(ClassNumber host_class, std::uint32_t gpus) const;
  void move_watts(SlotNumber slot, const std::optional<FreePosition>& before,
                  const std::optional<FreePosition>& after);

  std::vector<std::vector<Level>> classes_;  // [class][free GPUs]
  std::vector<std::optional<FreePosition>> positions_;
  std::set<std::pair<double, SlotNumber>> by_watts_;
  std::size_t size_ = 0;
};

template <typename Visit>
bool FreeIndex::visit_cell(const Cell& cell, const Wanted& wanted, const Visit& visit) {
  auto at = cell.lower_bound({.memory = wanted.memory, .until = MonotonicTime::max(), .slot = 0});
  while (at != cell.end()) {
    if (at->until < wanted.until) {  // so do all after it with this memory
      at = cell.lower_bound({.memory = static_cast<std::uint16_t>(at->memory + 1),
                             .until = MonotonicTime::max(),
                             .slot = 0});
      continue;
    }
    if (visit(at->slot)) return true;
    ++at;
  }
  return false;
}

inline const FreeIndex::Level* FreeIndex::level(ClassNumber host_class, std::uint32_t gpus) const {
  if (host_class >= classes_.size() || gpus >= classes_[host_class].size()) return nullptr;
  return &classes_[host_class][gpus];
}

template <typename Visit>
bool FreeIndex::visit_cores(std::span<const ClassNumber> classes, std::uint32_t gpus,
                            std::uint32_t cores, const Wanted& wanted, const Visit& visit) const {
  for (const ClassNumber host_class : classes) {
    const Level* const found = level(host_class, gpus);
    if (found != nullptr && found->present.contains(cores) &&
        visit_cell(found->cells[cores], wanted, visit))
      return true;
  }
  return false;
}

template <typename Visit>
bool FreeIndex::visit(std::span<const ClassNumber> classes, const Wanted& wanted, bool descending,
                      const Visit& visit) const {
  for (std::uint32_t gpus = std::min(wanted.gpus, most_gpus); gpus <= most_gpus; ++gpus) {
    CoreSet present;
    for (const ClassNumber host_class : classes)
      if (const Level* const found = level(host_class, gpus)) present |= found->present;
    std::uint32_t cores =
        descending ? present.previous(CoreSet::limit - 1) : present.next(wanted.cores);
    while (cores < CoreSet::limit && cores >= wanted.cores) {
      if (visit_cores(classes, gpus, cores, wanted, visit)) return true;
      if (descending && cores == 0) break;
      cores = descending ? present.previous(cores - 1) : present.next(cores + 1);
    }
  }
  return false;
}

template <typename Visit>
void FreeIndex::for_each_cell(ClassNumber host_class, const Visit& visit) const {
  for (std::uint32_t gpus = 0; gpus <= most_gpus; ++gpus) {
    const Level* const found = level(host_class, gpus);
    if (found == nullptr) continue;
    for (std::uint32_t cores = found->present.next(0); cores < CoreSet::limit;
         cores = found->present.next(cores + 1))
      visit(gpus, cores, found->cells[cores]);
  }
}

}  // namespace orchid::placement
