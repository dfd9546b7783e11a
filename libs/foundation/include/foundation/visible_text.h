// foundation/visible_text.h: text of others for a terminal or a log: what would steer it is shown
// instead.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace orchid {

/// Whether they stay, as in text, or are shown as well, so that all of it is one line.
enum class LineEnds : std::uint8_t { stay, shown };

/// Tabs and printable UTF-8 stay. Control characters, those of Unicode that turn the direction of
/// text, and bytes that are no UTF-8 become \x1b, \u{202e} and \xff.
[[nodiscard]] std::string visible_text(std::string_view text, LineEnds ends = LineEnds::stay);

}  // namespace orchid
