#include "foundation/visible_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace orchid {
namespace {

/// A character of UTF-8 in its shortest form, or one byte that is none.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = true;
};

Character first_character(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {.code = lead};
  const std::size_t bytes = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 ? 3 : 2;
  const Character none{.code = lead, .valid = false};
  if (lead < 0xC2 || lead >= 0xF5 || text.size() < bytes) return none;
  std::uint32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return none;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t least_of_four = 0x10000;
  const bool shortest = bytes == 2 || code >= (bytes == 3 ? 0x800 : least_of_four);
  if (!shortest || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return none;
  return {.code = code, .bytes = bytes};
}

bool steers(std::uint32_t code) {
  if (code == '\t') return false;
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x61C || code == 0x200E ||
         code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string visible_text(std::string_view text, LineEnds ends) {
  std::string visible;
  visible.reserve(text.size());
  while (!text.empty()) {
    if (ends == LineEnds::stay && (text.front() == '\n' || text.starts_with("\r\n"))) {
      const std::size_t size = text.front() == '\n' ? 1 : 2;
      visible += text.substr(0, size);
      text.remove_prefix(size);
      continue;
    }
    const Character next = first_character(text);
    if (!next.valid || (steers(next.code) && next.code < 0x80))
      fmt::format_to(std::back_inserter(visible), "\\x{:02x}", next.code);
    else if (steers(next.code))
      fmt::format_to(std::back_inserter(visible), "\\u{{{:x}}}", next.code);
    else
      visible += text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
  }
  return visible;
}

}  // namespace orchid
