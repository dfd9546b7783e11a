// foundation/base64.h: bytes as text, as RFC 4648 has it, with padding.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"

namespace orchid {

[[nodiscard]] std::string to_base64(std::span<const std::byte> bytes);
/// Errors: `bad_request`.
[[nodiscard]] Result<std::vector<std::byte>> parse_base64(std::string_view text);

}  // namespace orchid
