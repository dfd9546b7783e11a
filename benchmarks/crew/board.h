// crew/board.h: memory that the processes of a crew share to be told when to begin and to end, and
// to hand over UCX addresses and results. What is measured does not go through it.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "foundation/result.h"

namespace orchid::bench {

constexpr unsigned most_processes = 65;  // 64 members and who begins the chases

class Board {
 public:
  [[nodiscard]] static Result<Board> create();
  Board(Board&& other) noexcept;
  Board& operator=(Board&&) = delete;
  ~Board();

  /// What others need to reach that process; at most `most_bytes`. Once.
  void publish(unsigned process, std::span<const std::byte> bytes);
  /// Waits until it is there. Errors: `timed_out`.
  [[nodiscard]] Result<std::span<const std::byte>> of(unsigned process) const;
  /// Counts a process that is complete, and how many are.
  void add_complete() { ++page_->complete; }
  [[nodiscard]] unsigned complete() const { return page_->complete.load(); }

  /// The last round that is over.
  void end_round(unsigned round) { page_->over.store(round); }
  [[nodiscard]] unsigned over() const { return page_->over.load(std::memory_order_relaxed); }

  /// Results of one process, or of a round.
  static constexpr std::size_t most_values = 8192;
  [[nodiscard]] std::span<double> values() const { return page_->values; }
  /// What one process found out about itself.
  static constexpr std::size_t figures_each = 8;
  [[nodiscard]] std::span<double, figures_each> figures(unsigned process) const {
    return page_->places[process].figures;
  }
  [[nodiscard]] std::atomic<std::uint64_t>& counter(unsigned process) const {
    return page_->places[process].counter;
  }

  static constexpr std::size_t most_bytes = 2048;
  static constexpr std::chrono::seconds patience{20};

 private:
  struct alignas(64) Place {
    std::atomic<std::uint32_t> size;
    std::array<std::byte, most_bytes> bytes;
    std::array<double, figures_each> figures;
    alignas(64) std::atomic<std::uint64_t> counter;
  };
  struct Page {
    alignas(64) std::atomic<unsigned> over;
    alignas(64) std::atomic<unsigned> complete;
    std::array<Place, most_processes> places;
    std::array<double, most_values> values;
  };
  explicit Board(Page* page) : page_(page) {}
  Page* page_ = nullptr;
};

}  // namespace orchid::bench
