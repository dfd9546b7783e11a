// orchid/text_writer.h: writes the text of a signature, at compile time. orchid/values.h brings it.
#pragma once
#include <cstddef>
#include <string_view>

namespace orchid::values {

/// Counts when it has no room, so that the same code measures and writes.
class TextWriter {
 public:
  constexpr explicit TextWriter(char* room) : room_(room) {}
  constexpr void put(std::string_view text) {
    for (const char c : text) {
      if (room_ != nullptr) room_[size_] = c;
      ++size_;
    }
  }
  constexpr void put_number(std::size_t number) {
    char digits[20] = {};
    std::size_t count = 0;
    do {
      digits[19 - count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    put({digits + 20 - count, count});
  }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }

 private:
  char* room_;
  std::size_t size_ = 0;
};

}  // namespace orchid::values
