#include "foundation/base64.h"

#include <algorithm>
#include <cstdint>

namespace orchid {
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto group = bytes.subspan(at, std::min<std::size_t>(3, bytes.size() - at));
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < group.size() ? std::to_integer<std::uint32_t>(group[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= group.size() ? digits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

Result<std::vector<std::byte>> parse_base64(std::string_view text) {
  const auto wrong = [] { return fail(ErrorCode::bad_request, "this is no base64"); };
  if (text.size() % 4 != 0) return wrong();
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::string_view group = text.substr(at, 4);
    if (at + 4 == text.size() && group.ends_with('=')) group.remove_suffix(group[2] == '=' ? 2 : 1);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t digit = i < group.size() ? digits.find(group[i]) : 0;
      if (digit == std::string_view::npos) return wrong();
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t i = 0; i + 1 < group.size(); ++i)
      bytes.push_back(static_cast<std::byte>(bits >> (16 - 8 * i)));
  }
  return bytes;
}

}  // namespace orchid
