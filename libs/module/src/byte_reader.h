// src/byte_reader.h: bounds-checked little-endian loads from untrusted bytes.
#pragma once
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace orchid::module {

static_assert(std::endian::native == std::endian::little, "Orchid's hosts are little-endian");

/// The integer at `offset`, or nothing if it does not lie wholly inside.
template <std::integral T>
[[nodiscard]] std::optional<T> load(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// `length` bytes from `offset`, or nothing if they do not lie wholly inside.
[[nodiscard]] inline std::optional<std::span<const std::byte>> slice(
    std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t length) {
  if (offset > bytes.size() || bytes.size() - offset < length) return std::nullopt;
  return bytes.subspan(offset, length);
}

}  // namespace orchid::module
