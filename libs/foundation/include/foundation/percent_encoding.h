// foundation/percent_encoding.h: any text as a part of a URL. Pure functions.
#pragma once
#include <string>
#include <string_view>

namespace orchid {

/// `text` as one segment of a path, or as a name or value of a query (RFC 3986): letters, digits
/// and "-_.~@" stay, every other byte becomes %XX.
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace orchid
