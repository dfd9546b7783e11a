// protocol/lease_id.h: the name of a lease: `l-EPOCH-NUMBER`, where EPOCH counts the gateway's
// starts.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace orchid {

/// A value. Numbers are not used again within an epoch; an executor obeys only the newest epoch.
struct LeaseId {
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;
  friend constexpr auto operator<=>(const LeaseId&, const LeaseId&) = default;
};

[[nodiscard]] std::string to_string(const LeaseId& lease);
/// Nothing if `text` is not exactly what `to_string` makes.
[[nodiscard]] std::optional<LeaseId> parse_lease_id(std::string_view text);

}  // namespace orchid

template <>
struct std::hash<orchid::LeaseId> {
  std::size_t operator()(const orchid::LeaseId& lease) const noexcept {
    return std::hash<std::uint64_t>{}(lease.epoch * 0x9e3779b97f4a7c15ULL + lease.number);
  }
};
