#include "lane/pinned_ranges.h"

#include <algorithm>

namespace orchid::executor {
namespace {

/// Ranges begin and end at multiples of it, so that they need not grow for each copy.
constexpr std::uint64_t range_granule = 2ULL << 20;

}  // namespace

DriverResult<std::uint64_t> PinnedRanges::reach(std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t number = offset / window;
  const std::uint64_t limit = std::min<std::uint64_t>((number + 1) * window, slab_.size());
  const std::uint64_t length = std::min(size, limit - offset);
  const auto known = ranges_.find(number);
  if (known != ranges_.end() && known->second.begin <= offset &&
      offset + length <= known->second.end)
    return length;
  if (refused_ || length < worth_pinning) return 0;
  Range wanted{.begin = offset / range_granule * range_granule,
               .end = std::min(
                   (offset + length + range_granule - 1) / range_granule * range_granule, limit)};
  if (known != ranges_.end()) {
    wanted.begin = std::min(wanted.begin, known->second.begin);
    wanted.end = std::max(wanted.end, known->second.end);
    drop(known->second);
    ranges_.erase(known);
  }
  if (auto pinned = driver_.pin(bytes(wanted)); !pinned) {
    if (ends_context(pinned.error())) return std::unexpected(pinned.error());
    refused_ = true;  // of memory that may be locked, or of this kind of mapping
    return 0;
  }
  ranges_.emplace(number, wanted);
  pinned_.value += wanted.end - wanted.begin;
  return length;
}

void PinnedRanges::drop(const Range& range) {
  driver_.unpin(bytes(range));
  pinned_.value -= range.end - range.begin;
}

void PinnedRanges::unpin_all() {
  for (const auto& [number, range] : ranges_) drop(range);
  ranges_.clear();
}

}  // namespace orchid::executor
