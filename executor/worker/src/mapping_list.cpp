#include "mapping_list.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "foundation/numbers.h"

namespace orchid::executor {
namespace {

std::optional<std::uint64_t> take_hexadecimal(std::string_view& text) {
  std::uint64_t number = 0;
  constexpr int base = 16;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (read.ec != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

/// Up to the next blank, which goes with those behind it.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return word;
}

}  // namespace

MappingLine parse_mapping(std::string_view line) {
  MappingLine mapping;
  const auto start = take_hexadecimal(line);
  if (!start || !line.starts_with('-')) return {};
  line.remove_prefix(1);
  const auto end = take_hexadecimal(line);
  if (!end || !line.starts_with(' ')) return {};
  line.remove_prefix(1);
  mapping.protection = take_word(line);
  const auto offset = take_hexadecimal(line);
  if (!offset || !line.starts_with(' ')) return {};
  line.remove_prefix(1);
  (void)take_word(line);  // the device
  const auto inode = take_number<std::uint64_t>(line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  mapping.start = *start;
  mapping.end = *end;
  mapping.offset = *offset;
  mapping.inode = inode.value_or(0);
  mapping.file = line;
  return mapping;
}

}  // namespace orchid::executor
