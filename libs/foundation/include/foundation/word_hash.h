// foundation/word_hash.h: 64 bits that tell values apart. Not against somebody who wants two values
// to have the same ones.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace orchid {

class WordHash {
 public:
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15U;
    value_ ^= value_ >> 32U;
  }
  /// Their number, too.
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t size = std::min(bytes.size(), sizeof(word));
      std::memcpy(&word, bytes.data(), size);
      add(word);
      bytes = bytes.subspan(size);
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x6f72636869640051U;
};

}  // namespace orchid
