#include "terminal/table.h"

#include <algorithm>
#include <cctype>

namespace orchid::cli {
namespace {

void append_row(std::string& text, const std::vector<std::string>& row,
                const std::vector<std::size_t>& widths) {
  constexpr std::size_t gap = 2;
  for (std::size_t column = 0; column < row.size(); ++column) {
    text += row[column];
    if (column + 1 < row.size())
      text.append(widths[column] - display_width(row[column]) + gap, ' ');
  }
  text += '\n';
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const std::string& head : heads_) widths.push_back(display_width(head));
  for (const auto& row : rows_)
    for (std::size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], display_width(row[column]));
  std::vector<std::string> heads = heads_;
  for (std::string& head : heads)
    std::ranges::transform(head, head.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text;
  append_row(text, heads, widths);
  for (const auto& row : rows_) append_row(text, row, widths);
  return text;
}

}  // namespace orchid::cli
