// foundation/random.h: unguessable bytes from the kernel, and their hexadecimal form.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orchid {

/// From getrandom(2); ends the process if the kernel has none, which does not happen on a booted
/// machine.
void fill_random(std::span<std::byte> out);
[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);
/// Lower or upper case; nothing if `text` is not an even number of hexadecimal digits.
[[nodiscard]] std::optional<std::vector<std::byte>> from_hex(std::string_view text);
/// `bytes` random bytes as hexadecimal text: ids, secrets, tokens.
[[nodiscard]] std::string random_hex(std::size_t bytes);
/// In time that does not depend on where the two differ.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace orchid
