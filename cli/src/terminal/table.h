// terminal/table.h: columns of text for people.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace orchid::cli {

/// A value. Columns are as wide as their widest cell.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) : heads_(std::move(heads)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// With a line of heads in capitals; each line ends with a newline.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> heads_;
  std::vector<std::vector<std::string>> rows_;
};

/// How many columns `text` takes, for UTF-8 without wide characters.
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace orchid::cli
