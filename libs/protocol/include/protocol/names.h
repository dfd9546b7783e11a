// protocol/names.h: how functions, entries and versions are written: `N`, `N.E`, `N@<digest
// prefix>`, `N.E@<digest prefix>`.
#pragma once
#include <string>
#include <string_view>

#include "foundation/result.h"

namespace orchid {

/// 1 to 64 characters: a letter, then letters, digits, '-' and '_'. Errors: `bad_request`, with the
/// rule.
[[nodiscard]] Result<void> check_function_name(std::string_view name);

struct FunctionReference {
  std::string function;
  std::string entry;           // empty: the function's only entry
  std::string version_prefix;  // empty: the newest; else 6 to 64 hexadecimal digits
};
/// Errors: `bad_request`.
[[nodiscard]] Result<FunctionReference> parse_function_reference(std::string_view text);

/// Entry names are C identifiers: a letter or '_', then letters, digits and '_'; at most 128.
[[nodiscard]] bool is_entry_name(std::string_view name);

}  // namespace orchid
