#include "protocol/lease_id.h"

#include <charconv>

namespace orchid {
namespace {

std::optional<std::uint64_t> take_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool canonical = !text.empty() && (text.size() == 1 || text.front() != '0');
  if (error != std::errc{} || end != text.data() + text.size() || !canonical) return std::nullopt;
  return number;
}

}  // namespace

std::string to_string(const LeaseId& lease) {
  return "l-" + std::to_string(lease.epoch) + "-" + std::to_string(lease.number);
}

std::optional<LeaseId> parse_lease_id(std::string_view text) {
  if (!text.starts_with("l-")) return std::nullopt;
  text.remove_prefix(2);
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto epoch = take_number(text.substr(0, dash));
  const auto number = take_number(text.substr(dash + 1));
  if (!epoch || !number) return std::nullopt;
  return LeaseId{.epoch = *epoch, .number = *number};
}

}  // namespace orchid
