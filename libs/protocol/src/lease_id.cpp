#include "protocol/lease_id.h"

#include "foundation/numbers.h"

namespace orchid {
namespace {

/// Written as `to_string` writes it, so that each lease has one id.
std::optional<std::uint64_t> canonical_number(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return parse_number<std::uint64_t>(text);
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
  const auto epoch = canonical_number(text.substr(0, dash));
  const auto number = canonical_number(text.substr(dash + 1));
  if (!epoch || !number) return std::nullopt;
  return LeaseId{.epoch = *epoch, .number = *number};
}

}  // namespace orchid
