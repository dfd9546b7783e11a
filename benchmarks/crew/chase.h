// crew/chase.h: what the crews of benchmarks do: they chase pointers through a table that is spread
// over their members, so that each step is another member's.
#pragma once
#include <cstdint>
#include <vector>

namespace orchid::bench {

/// What travels. Member 0 began the chase, and gets the answer; the others have the table.
struct ChaseRequest {
  std::uint64_t left = 0;  // lookups
  std::uint64_t address = 0;
  std::uint64_t number = 0;  // of the chase
};
static_assert(sizeof(ChaseRequest) == 24);

/// Which entries follow each other.
enum class ChaseOrder : std::uint8_t {
  leaving,  // no two neighbours lie at the same member
  random,   // one in so many, as there are members, stays where it is: such a step is none between
};

/// One cycle through all entries. The same in each process that makes one of the same size and
/// order. Immutable.
class ChaseTable {
 public:
  static constexpr unsigned entries_each = 4096;

  /// Of members 1 to `members`; at least two.
  explicit ChaseTable(unsigned members, ChaseOrder order = ChaseOrder::leaving);

  [[nodiscard]] std::uint64_t size() const { return next_.size(); }
  [[nodiscard]] std::uint64_t next(std::uint64_t address) const { return next_[address]; }
  [[nodiscard]] static unsigned owner(std::uint64_t address) {
    return static_cast<unsigned>(address / entries_each) + 1;
  }
  [[nodiscard]] const std::uint64_t* entries() const { return next_.data(); }
  /// Where a chase of so many lookups ends.
  [[nodiscard]] std::uint64_t walk(std::uint64_t address, std::uint64_t lookups) const {
    for (; lookups != 0; --lookups) address = next_[address];
    return address;
  }

 private:
  std::vector<std::uint64_t> next_;
};

}  // namespace orchid::bench
