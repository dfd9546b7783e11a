// protocol/constants.h: values for the named constants of a module, as text:
// "rows=0a00000000000000" for the eight bytes of orchid_constant_rows, a line for each, sorted by
// name.
//
// A function has them set in a module that its crew has (orchid_specialise), and the compiler
// process does so before it makes the code. The worker writes the text; the agent looks whether it
// is some, and the compiler takes it apart.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"

namespace orchid {

constexpr std::size_t longest_constants = 8192;  // as text
constexpr std::size_t most_constants = 64;
constexpr std::size_t longest_constant_name = 64;
/// Of the symbol that is the constant of a name.
constexpr std::string_view constant_prefix = "orchid_constant_";

struct Constant {
  std::string name;
  std::vector<std::byte> value;
  friend bool operator==(const Constant&, const Constant&) = default;
};

/// The same constants in another order are the same text. Errors: `bad_request`: a name that no
/// constant can have, or that is there twice; `too_large`.
[[nodiscard]] Result<std::string> encode_constants(std::vector<Constant> constants);
/// Errors: `bad_request`; `too_large`: nothing of it was looked at.
[[nodiscard]] Result<std::vector<Constant>> parse_constants(std::string_view text);

/// Of the module `base` with these constants set. Bytes that are the text which is hashed have it
/// as well, but are no module, and only their own tenant could mean them.
[[nodiscard]] std::string digest_with_constants(std::string_view base, std::string_view constants);

}  // namespace orchid
