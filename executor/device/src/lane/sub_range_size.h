// lane/sub_range_size.h: into how many items at a time a launch is cut.
//
// Pieces are to take about 8 ms, and never more than 20: a launch can be stopped between them, and
// so can what shows the desktop of the same card. How long an item takes is learnt from the pieces
// before, also of earlier launches of the same kernel.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace orchid::executor {

constexpr std::chrono::nanoseconds longest_sub_range = std::chrono::milliseconds(20);

/// Of one kernel. Plain data.
class SubRangeSize {
 public:
  /// `first`: items of the first piece of all, as many as fill the GPU once. `granule`: pieces are
  /// multiples of it, but for the last one.
  SubRangeSize(std::uint64_t first, std::uint64_t granule)
      : granule_(std::max<std::uint64_t>(granule, 1)), first_(std::max(first, granule_)) {}

  /// Of `left` items that are left, how many come next.
  [[nodiscard]] std::uint64_t next(std::uint64_t left) const {
    if (!is_known()) return std::min(left, first_ / granule_ * granule_);
    const double fits = static_cast<double>(target.count()) / time_per_item_;
    const double most = std::min(fits, static_cast<double>(longest_) * growth);
    // All of them: a rest of less than a granule would be a piece of its own.
    if (most >= static_cast<double>(left)) return left;
    const auto items = static_cast<std::uint64_t>(most);
    return std::min(left, std::max(items / granule_, std::uint64_t{1}) * granule_);
  }

  /// Nothing is known before the first piece has ended.
  [[nodiscard]] bool is_known() const { return longest_ != 0; }
  [[nodiscard]] std::chrono::nanoseconds expected(std::uint64_t items) const {
    return std::chrono::nanoseconds(
        static_cast<std::int64_t>(time_per_item_ * static_cast<double>(that_fill(items))));
  }

  /// A piece of so many items took so long. Slower ones count at once, faster ones by half: items
  /// need not be equal.
  void measured(std::uint64_t items, std::chrono::nanoseconds time) {
    if (items == 0) return;
    const double now = static_cast<double>(std::max<std::int64_t>(time.count(), 1)) /
                       static_cast<double>(that_fill(items));
    time_per_item_ = is_known() ? std::max(now, (now + time_per_item_) / 2) : now;
    longest_ = std::max(longest_, items);
  }

 private:
  static constexpr std::chrono::nanoseconds target = std::chrono::milliseconds(8);
  /// At most so many times the largest piece that was measured: what was true for few items need
  /// not be for many.
  static constexpr double growth = 8;

  /// Items that do not fill the GPU take as long as those that do.
  [[nodiscard]] std::uint64_t that_fill(std::uint64_t items) const {
    return std::max(items, first_);
  }

  std::uint64_t granule_;
  std::uint64_t first_;
  double time_per_item_ = 0;   // nanoseconds
  std::uint64_t longest_ = 0;  // items of the largest piece that was measured; 0: none was
};

}  // namespace orchid::executor
