#include "placement/core_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "foundation/numbers.h"

namespace orchid::placement {

CoreSet CoreSet::first(std::uint32_t count) {
  assert(count <= limit);
  CoreSet set;
  set.low_ = count >= bits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  if (count > bits) {
    set.high_.assign(count / bits - 1, ~std::uint64_t{0});
    if (count % bits != 0) set.high_.push_back((std::uint64_t{1} << (count % bits)) - 1);
  }
  return set;
}

void CoreSet::insert(std::uint32_t number) {
  assert(number < limit && "whoever reads numbers from outside checks them");
  if (number < bits) {
    low_ |= std::uint64_t{1} << number;
    return;
  }
  if (high_.size() < number / bits) high_.resize(number / bits);
  high_[number / bits - 1] |= std::uint64_t{1} << (number % bits);
}

void CoreSet::erase(std::uint32_t number) {
  if (!contains(number)) return;
  std::uint64_t& from = number < bits ? low_ : high_[number / bits - 1];
  from &= ~(std::uint64_t{1} << (number % bits));
  trim();
}

std::uint32_t CoreSet::size() const {
  auto count = static_cast<std::uint32_t>(std::popcount(low_));
  for (const std::uint64_t word : high_) count += static_cast<std::uint32_t>(std::popcount(word));
  return count;
}

bool CoreSet::intersects(const CoreSet& other) const {
  for (std::size_t i = 0; i < std::min(words(), other.words()); ++i)
    if ((word(i) & other.word(i)) != 0) return true;
  return false;
}

bool CoreSet::includes(const CoreSet& other) const {
  for (std::size_t i = 0; i < other.words(); ++i)
    if ((other.word(i) & ~word(i)) != 0) return false;
  return true;
}

CoreSet CoreSet::lowest(std::uint32_t count) const {
  CoreSet set;
  for (std::uint32_t number = next(0); count > 0 && number < limit; number = next(number + 1)) {
    set.insert(number);
    --count;
  }
  return set;
}

std::uint32_t CoreSet::next(std::uint32_t from) const {
  for (std::size_t i = from / bits; i < words(); ++i) {
    const std::uint64_t rest =
        i == from / bits ? word(i) >> (from % bits) << (from % bits) : word(i);
    if (rest != 0) return static_cast<std::uint32_t>(i * bits) + std::countr_zero(rest);
  }
  return limit;
}

std::uint32_t CoreSet::previous(std::uint32_t from) const {
  for (std::size_t i = std::min<std::size_t>(from / bits, words() - 1) + 1; i-- > 0;) {
    const std::uint32_t cut = i == from / bits ? bits - 1 - from % bits : 0;
    const std::uint64_t rest = word(i) << cut >> cut;
    if (rest != 0)
      return static_cast<std::uint32_t>(i * bits) +
             static_cast<std::uint32_t>(std::bit_width(rest)) - 1;
  }
  return limit;
}

std::vector<std::uint32_t> CoreSet::numbers() const {
  std::vector<std::uint32_t> result;
  for (std::uint32_t number = next(0); number < limit; number = next(number + 1))
    result.push_back(number);
  return result;
}

CoreSet& CoreSet::operator|=(const CoreSet& other) {
  low_ |= other.low_;
  if (high_.size() < other.high_.size()) high_.resize(other.high_.size());
  for (std::size_t i = 0; i < other.high_.size(); ++i) high_[i] |= other.high_[i];
  return *this;
}

CoreSet& CoreSet::operator&=(const CoreSet& other) {
  low_ &= other.low_;
  for (std::size_t i = 0; i < high_.size(); ++i) high_[i] &= other.word(i + 1);
  trim();
  return *this;
}

CoreSet& CoreSet::operator-=(const CoreSet& other) {
  low_ &= ~other.low_;
  for (std::size_t i = 0; i < high_.size(); ++i) high_[i] &= ~other.word(i + 1);
  trim();
  return *this;
}

std::string to_string(const CoreSet& set) {
  std::string text;
  for (std::uint32_t first = set.next(0); first < CoreSet::limit;) {
    std::uint32_t last = first;
    while (last + 1 < CoreSet::limit && set.contains(last + 1)) ++last;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    first = set.next(last + 1);
  }
  return text;
}

Result<CoreSet> parse_core_set(std::string_view text) {
  CoreSet set;
  const auto wrong = [&] {
    return fail(
        ErrorCode::bad_request,
        fmt::format("'{}' is not a list of cores below {} such as 0-3,8", text, CoreSet::limit));
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    if (part.size() + 1 == rest.size()) return wrong();  // a comma at the end
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t dash = part.find('-');
    const auto first = parse_number<std::uint32_t>(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_number<std::uint32_t>(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= CoreSet::limit) return wrong();
    for (std::uint32_t number = *first; number <= *last; ++number) set.insert(number);
  }
  return set;
}

}  // namespace orchid::placement
