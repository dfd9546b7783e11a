// foundation/units.h: amounts that carry their unit. Times are std::chrono; what people write
// is read by foundation/amounts.h.
#pragma once
#include <compare>
#include <cstdint>
#include <string>

namespace orchid {

struct ByteCount {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(ByteCount, ByteCount) = default;
};

constexpr ByteCount operator""_B(unsigned long long n) { return {n}; }
constexpr ByteCount operator""_KiB(unsigned long long n) { return {n << 10}; }
constexpr ByteCount operator""_MiB(unsigned long long n) { return {n << 20}; }
constexpr ByteCount operator""_GiB(unsigned long long n) { return {n << 30}; }

/// "64 MiB", "1.5 KiB", "17 B".
[[nodiscard]] std::string to_string(ByteCount count);

}  // namespace orchid
