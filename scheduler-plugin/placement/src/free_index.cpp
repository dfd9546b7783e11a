#include "free_index.h"

#include <bit>

namespace orchid::placement {

std::uint16_t memory_level(ByteCount memory) {
  const std::uint64_t mebibytes = memory.value >> 20;
  if (mebibytes < 8) return static_cast<std::uint16_t>(mebibytes);
  const int exponent = std::bit_width(mebibytes) - 1;
  const std::uint64_t eighths = (mebibytes >> (exponent - 3)) & 7;
  return static_cast<std::uint16_t>(static_cast<std::uint64_t>(exponent - 2) * 8 + eighths);
}

void FreeIndex::move_watts(SlotNumber slot, const std::optional<FreePosition>& before,
                           const std::optional<FreePosition>& after) {
  const bool was = before && before->cores > 0;
  const bool is = after && after->cores > 0;
  if (was && is && before->watts == after->watts) return;
  if (was) by_watts_.erase({before->watts, slot});
  if (is) by_watts_.emplace(after->watts, slot);
}

void FreeIndex::put(SlotNumber slot, const FreePosition& position) {
  if (slot >= positions_.size()) positions_.resize(slot + 1);
  const std::optional<FreePosition> before = positions_[slot];
  if (before == position) return;
  move_watts(slot, before, position);
  Cell::node_type node;
  if (before) {
    Level& from = classes_[before->host_class][std::min(before->gpus, most_gpus)];
    Cell& cell = from.cells[before->cores];
    node = cell.extract({.memory = before->memory, .until = before->until, .slot = slot});
    if (cell.empty()) from.present.erase(before->cores);
  } else {
    ++size_;
  }
  const std::uint32_t gpus = std::min(position.gpus, most_gpus);
  if (position.host_class >= classes_.size()) classes_.resize(position.host_class + 1);
  auto& levels = classes_[position.host_class];
  if (gpus >= levels.size()) levels.resize(gpus + 1);
  Level& to = levels[gpus];
  if (position.cores >= to.cells.size()) to.cells.resize(position.cores + 1);
  const Entry entry{.memory = position.memory, .until = position.until, .slot = slot};
  if (node) {
    node.value() = entry;
    to.cells[position.cores].insert(std::move(node));
  } else {
    to.cells[position.cores].insert(entry);
  }
  to.present.insert(position.cores);
  positions_[slot] = position;
}

void FreeIndex::remove(SlotNumber slot) {
  const std::optional<FreePosition> before = find(slot);
  if (!before) return;
  move_watts(slot, before, std::nullopt);
  Level& from = classes_[before->host_class][std::min(before->gpus, most_gpus)];
  Cell& cell = from.cells[before->cores];
  cell.erase({.memory = before->memory, .until = before->until, .slot = slot});
  if (cell.empty()) from.present.erase(before->cores);
  positions_[slot].reset();
  --size_;
}

}  // namespace orchid::placement
