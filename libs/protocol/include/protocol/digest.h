// protocol/digest.h: the name of a module by its content: "sha256:" and 64 hexadecimal digits.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace orchid {

[[nodiscard]] std::string digest_of(std::span<const std::byte> content);
[[nodiscard]] bool is_digest(std::string_view text);
/// The first 12 hexadecimal digits: how people see a version.
[[nodiscard]] std::string_view short_digest(std::string_view digest);

}  // namespace orchid
