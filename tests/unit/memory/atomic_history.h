// atomic_history.h: whether what several threads saw of one number can have happened one after the
// other.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace orchid::test {

/// One atomic on one number, as its thread saw it.
struct AtomicEvent {
  enum class Kind : std::uint8_t { add, swap };
  Kind kind = Kind::add;
  std::uint64_t operand = 0;            // what was added, or the new value
  std::uint64_t expected = 0;           // of a swap
  std::optional<std::uint64_t> before;  // what it was told; nothing: it has no answer
  std::uint64_t began = 0;              // by one clock for all
  std::uint64_t ended = ~std::uint64_t{0};
};

/// Whether there is an order of the events that starts at 0, gives each what it was told, keeps
/// those in their order of which one ended before the other began, and ends at `last`. An event
/// without an answer may have happened, or not. At most 64 events; looks at each set of them once.
[[nodiscard]] bool is_linearisable(const std::vector<AtomicEvent>& events, std::uint64_t last);

}  // namespace orchid::test
