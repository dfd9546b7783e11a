#include "http/byte_range.h"

#include <algorithm>
#include <optional>

#include "foundation/numbers.h"
#include "http/request_options.h"

namespace orchid::gateway {

ByteRange parse_range(std::string_view range, std::uint64_t size) {
  const ByteRange whole{.kind = ByteRange::Kind::whole, .begin = 0, .length = size};
  const ByteRange none{.kind = ByteRange::Kind::unsatisfiable};
  const std::size_t equals = range.find('=');
  if (equals == std::string_view::npos ||
      !equals_ignoring_case(trim_blanks(range.substr(0, equals)), "bytes"))
    return whole;
  const std::string_view wanted = trim_blanks(range.substr(equals + 1));
  const std::size_t dash = wanted.find('-');
  if (dash == std::string_view::npos) return whole;
  const std::string_view first_text = wanted.substr(0, dash);
  const std::string_view last_text = wanted.substr(dash + 1);
  const auto first = parse_number<std::uint64_t>(first_text);
  const auto last = parse_number<std::uint64_t>(last_text);
  if ((!first && !first_text.empty()) || (!last && !last_text.empty())) return whole;
  if (!first) {  // the last so many bytes
    if (!last) return whole;
    const std::uint64_t length = std::min(*last, size);
    if (length == 0) return none;
    return {.kind = ByteRange::Kind::part, .begin = size - length, .length = length};
  }
  if (last && *last < *first) return whole;
  if (*first >= size) return none;
  const std::uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  return {.kind = ByteRange::Kind::part, .begin = *first, .length = end - *first + 1};
}

std::string content_range(const ByteRange& range, std::uint64_t size) {
  if (range.kind == ByteRange::Kind::unsatisfiable) return "bytes */" + std::to_string(size);
  return "bytes " + std::to_string(range.begin) + "-" +
         std::to_string(range.begin + range.length - 1) + "/" + std::to_string(size);
}

}  // namespace orchid::gateway
