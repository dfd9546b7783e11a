// fakes/fake_terminal.h: what is seen on a terminal to which this was written.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orchid::tests {

/// Knows what programs here write: texts, ends of lines, the cursor up by lines, and erasing. It is
/// as high and as wide as needed: a test sees what would not have fitted.
class FakeTerminal {
 public:
  explicit FakeTerminal(std::string_view written) {
    while (!written.empty()) written.remove_prefix(take(written));
    while (!lines_.empty() && lines_.back().empty()) lines_.pop_back();
  }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::size_t take(std::string_view written) {
    if (written.starts_with("\033[")) return steer(written);
    const char c = written.front();
    if (c == '\n') {
      ++row_;
      column_ = 0;
    } else if (c == '\r') {
      column_ = 0;
    } else {
      std::string& line = line_here();
      if (line.size() <= column_) line.resize(column_ + 1, ' ');
      line[column_++] = c;
    }
    return 1;
  }

  std::size_t steer(std::string_view written) {
    const std::size_t end = written.find_first_of("AJK");
    if (written[end] == 'A') {
      row_ -= std::stoul(std::string(written.substr(2, end - 2)));
    } else {
      line_here().resize(column_);
      if (written[end] == 'J') lines_.resize(row_ + 1);
    }
    return end + 1;
  }

  std::string& line_here() {
    if (lines_.size() <= row_) lines_.resize(row_ + 1);
    return lines_[row_];
  }

  std::vector<std::string> lines_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
};

}  // namespace orchid::tests
