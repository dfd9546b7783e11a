#include "protocol/core_list.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "foundation/numbers.h"

namespace orchid {

Result<CoreList> parse_core_list(std::string_view text) {
  CoreList list;
  if (text.empty()) return list;
  const std::string_view whole = text;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const std::size_t dash = range.find('-');
    const auto first = parse_number<std::uint32_t>(range.substr(0, dash));
    const auto last = dash == std::string_view::npos
                          ? first
                          : parse_number<std::uint32_t>(range.substr(dash + 1));
    // Overlapping ranges could ask for any amount of memory otherwise.
    if (!first || !last || *first > *last || *last > highest_core ||
        list.size() + (*last - *first) > 2UL * highest_core)
      return fail(ErrorCode::bad_request,
                  "'" + std::string(whole.substr(0, 80)) + "' is not a list of numbers like 0-3,8");
    for (std::uint32_t number = *first; number <= *last; ++number) list.push_back(number);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::ranges::sort(list);
  list.erase(std::ranges::unique(list).begin(), list.end());
  return list;
}

std::string to_core_text(const CoreList& list) {
  std::string text;
  for (std::size_t first = 0; first < list.size();) {
    std::size_t last = first;
    while (last + 1 < list.size() && list[last + 1] == list[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(list[first]);
    if (last > first) text += '-' + std::to_string(list[last]);
    first = last + 1;
  }
  return text;
}

CoreList without(const CoreList& all, const CoreList& taken) {
  CoreList left;
  std::ranges::set_difference(all, taken, std::back_inserter(left));
  return left;
}

CoreList common(const CoreList& a, const CoreList& b) {
  CoreList both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

CoreList united(const CoreList& a, const CoreList& b) {
  CoreList both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

std::optional<CoreList> threads_behind(const CoreList& processors, std::uint32_t count,
                                       std::span<const std::uint32_t> order) {
  if (count == 0 || order.empty() || order.size() % count != 0) return std::nullopt;
  const std::size_t each = order.size() / count;
  CoreList threads;
  for (const std::uint32_t processor : processors) {
    if (processor >= count) return std::nullopt;
    const auto own = order.subspan(processor * each, each);
    threads.insert(threads.end(), own.begin(), own.end());
  }
  std::ranges::sort(threads);
  return threads;
}

CoreList first_numbers(std::uint32_t count) {
  CoreList list(count);
  std::iota(list.begin(), list.end(), 0U);
  return list;
}

}  // namespace orchid
