// api/function_reference.h: how a program names a function and an entry, and what a deployed
// function has of that name.
#pragma once
#include <string>
#include <string_view>

#include "orchid/client.h"

namespace orchid::sdk {

/// "N", "N.E", "N@version", "N.E@version".
struct Reference {
  std::string function;  // with its version
  std::string entry;
  std::string version;  // with its @
};
[[nodiscard]] Reference split_reference(std::string_view name);

// Both throw `orchid::Error`.
/// Error `not_found`, with the entries that there are.
[[nodiscard]] const EntryInfo& find_entry(const FunctionInfo& info, const Reference& reference);
/// Error `signature_mismatch`.
void check_signature(const FunctionInfo& info, const EntryInfo& entry, std::string_view wanted);

}  // namespace orchid::sdk
