// devices/piece_schedule.h: cuts the items of a launch into pieces, as long as a target says,
// while it learns how long items take.
//
// The first piece is as small as can be, and each piece grows on what was measured, at most
// eightfold: a kernel whose items take a second must not begin with a thousand of them. Towards the
// end pieces get shorter, so that all threads end at about the same time. What pieces there are
// changes no result: items know nothing of each other.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

namespace orchid::executor {

/// Shared by the threads of one launch.
class PieceSchedule {
 public:
  struct Options {
    std::uint64_t items = 0;
    std::uint32_t group_size = 0;  // 0: no groups
    unsigned threads = 1;
    std::uint64_t target_ticks = 1;  // what a piece should take
  };
  /// Items [begin, end). Both are multiples of the group's size, but for the very end.
  struct Piece {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    [[nodiscard]] std::uint64_t size() const { return end - begin; }
  };

  explicit PieceSchedule(const Options& options)
      : options_(options), grain_(std::max(options.group_size, 1U)) {}

  /// Nothing: all have been taken.
  [[nodiscard]] std::optional<Piece> take() {
    std::uint64_t begin = next_.load(std::memory_order_relaxed);
    while (begin < options_.items) {
      const std::uint64_t end = end_of_piece(begin);
      if (next_.compare_exchange_weak(begin, end, std::memory_order_relaxed))
        return Piece{begin, end};
    }
    return std::nullopt;
  }

  /// What a piece took. Threads that measure at the same time may lose one of their figures.
  void note(const Piece& piece, std::uint64_t ticks) {
    const auto size = static_cast<double>(piece.size());
    const double fits = size * static_cast<double>(options_.target_ticks) /
                        static_cast<double>(std::max<std::uint64_t>(ticks, 1));
    const auto now = static_cast<double>(grain_.load(std::memory_order_relaxed));
    const double grain =
        fits < now ? std::max(fits, 1.0) : std::max(now, std::min(fits, growth * size));
    grain_.store(static_cast<std::uint64_t>(std::min(
                     grain, static_cast<double>(std::max<std::uint64_t>(options_.items, 1)))),
                 std::memory_order_relaxed);
  }

  /// Items that nobody has taken.
  [[nodiscard]] std::uint64_t left() const {
    const std::uint64_t next = next_.load(std::memory_order_relaxed);
    return options_.items - std::min(next, options_.items);
  }

 private:
  static constexpr double growth = 8;
  /// At the end a piece has no less than this part of a whole one: it is handed out, too.
  static constexpr std::uint64_t least_part = 64;
  /// Long pieces end, and so the next begin, at a multiple of it, so that threads do not share
  /// lines of what they write, and vector code has nothing left over.
  static constexpr std::uint64_t round_to = 64;

  [[nodiscard]] std::uint64_t end_of_piece(std::uint64_t begin) const {
    const std::uint64_t left = options_.items - begin;
    const std::uint64_t grain = grain_.load(std::memory_order_relaxed);
    std::uint64_t size = grain;
    if (options_.threads > 1) {
      const std::uint64_t share = left / (2ULL * options_.threads);
      size = std::min(grain, std::max(share, grain / least_part));
    }
    std::uint64_t unit = options_.group_size;
    if (unit == 0) unit = size >= round_to ? round_to : 1;
    const std::uint64_t end = (begin + std::max<std::uint64_t>(size, 1) + unit - 1) / unit * unit;
    return std::min(end, options_.items);
  }

  Options options_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> grain_;  // items of a piece that would take as long as wanted
};

}  // namespace orchid::executor
