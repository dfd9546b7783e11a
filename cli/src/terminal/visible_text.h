// terminal/visible_text.h: text of others for a terminal: what would steer it is shown instead.
#pragma once
#include <string>
#include <string_view>

namespace orchid::cli {

/// Line ends, tabs and printable UTF-8 stay. Control characters, those of Unicode that turn the
/// direction of text, and bytes that are no UTF-8 become \x1b, \u{202e} and \xff.
[[nodiscard]] std::string visible_text(std::string_view text);

}  // namespace orchid::cli
