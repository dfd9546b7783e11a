// protocol/data_id.h: the id of a data object: `d-` and 32 lower-case hexadecimal digits.
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace orchid {

/// A value: 16 random bytes, made by the gateway and used once.
struct DataId {
  std::array<std::byte, 16> bytes{};
  friend constexpr auto operator<=>(const DataId&, const DataId&) = default;
};

/// From the kernel's random bytes.
[[nodiscard]] DataId make_data_id();
[[nodiscard]] std::string to_string(const DataId& data);
/// Nothing if `text` is not exactly what `to_string` makes.
[[nodiscard]] std::optional<DataId> parse_data_id(std::string_view text);

}  // namespace orchid

template <>
struct std::hash<orchid::DataId> {
  std::size_t operator()(const orchid::DataId& data) const noexcept {
    std::uint64_t first = 0;  // random, so a part of it is as good as all
    std::memcpy(&first, data.bytes.data(), sizeof(first));
    return std::hash<std::uint64_t>{}(first);
  }
};
