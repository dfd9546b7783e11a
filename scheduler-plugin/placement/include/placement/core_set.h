// placement/core_set.h: numbers of one host's cores (or of its GPUs) as bits.
#pragma once
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"

namespace orchid::placement {

/// A value. Sets within 0..63 need no memory beyond the object; most hosts have no more cores.
class CoreSet {
 public:
  static constexpr std::uint32_t limit = 4096;  // every number is below it

  CoreSet() = default;
  CoreSet(std::initializer_list<std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) insert(number);
  }
  /// 0 to count - 1.
  [[nodiscard]] static CoreSet first(std::uint32_t count);

  void insert(std::uint32_t number);
  void erase(std::uint32_t number);
  [[nodiscard]] bool contains(std::uint32_t number) const {
    return (word(number / bits) >> (number % bits) & 1) != 0;
  }
  [[nodiscard]] bool empty() const { return low_ == 0 && high_.empty(); }
  [[nodiscard]] std::uint32_t size() const;
  [[nodiscard]] bool intersects(const CoreSet& other) const;
  [[nodiscard]] bool includes(const CoreSet& other) const;
  /// The `count` lowest numbers; all when there are fewer.
  [[nodiscard]] CoreSet lowest(std::uint32_t count) const;
  /// The lowest number that is not below `from`; `limit` when there is none.
  [[nodiscard]] std::uint32_t next(std::uint32_t from) const;
  /// The highest number that is not above `from`; `limit` when there is none.
  [[nodiscard]] std::uint32_t previous(std::uint32_t from) const;
  [[nodiscard]] std::vector<std::uint32_t> numbers() const;

  CoreSet& operator|=(const CoreSet& other);
  CoreSet& operator&=(const CoreSet& other);
  CoreSet& operator-=(const CoreSet& other);
  friend CoreSet operator|(CoreSet left, const CoreSet& right) { return left |= right; }
  friend CoreSet operator&(CoreSet left, const CoreSet& right) { return left &= right; }
  friend CoreSet operator-(CoreSet left, const CoreSet& right) { return left -= right; }
  friend bool operator==(const CoreSet&, const CoreSet&) = default;

 private:
  static constexpr std::uint32_t bits = 64;
  [[nodiscard]] std::size_t words() const { return 1 + high_.size(); }
  [[nodiscard]] std::uint64_t word(std::size_t index) const {
    return index == 0 ? low_ : index <= high_.size() ? high_[index - 1] : 0;
  }
  void trim() {
    while (!high_.empty() && high_.back() == 0) high_.pop_back();
  }

  std::uint64_t low_ = 0;
  std::vector<std::uint64_t> high_;  // its last word is not 0, so that equal sets compare equal
};

/// "0-3,8"; "" for the empty set.
[[nodiscard]] std::string to_string(const CoreSet& set);
/// Reads what `to_string` writes, and Slurm's lists of cores. Errors: `bad_request`.
[[nodiscard]] Result<CoreSet> parse_core_set(std::string_view text);

}  // namespace orchid::placement
