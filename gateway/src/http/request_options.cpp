#include "http/request_options.h"

#include <algorithm>

#include "protocol/limits.h"

namespace orchid::gateway {

using std::chrono::milliseconds;

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view take_item(std::string_view& list, char separator) {
  const std::size_t end = std::min(list.find(separator), list.size());
  const std::string_view item = trim_blanks(list.substr(0, end));
  list.remove_prefix(std::min(end + 1, list.size()));
  return item;
}

Result<milliseconds> parse_wait(std::string_view text) {
  auto wait = parse_duration(text, {.most = limits::longest_deadline});
  if (!wait) return fail(std::move(wait.error()).while_doing("wait"));
  return std::chrono::ceil<milliseconds>(*wait);
}

Result<std::uint64_t> parse_number_field(std::string_view name, std::string_view text,
                                         NumberRange range) {
  auto number = parse_whole_number(text, range);
  if (!number) return fail(std::move(number.error()).while_doing(name));
  return number;
}

}  // namespace orchid::gateway
