#include "protocol/names.h"

#include <algorithm>

#include "protocol/limits.h"

namespace orchid {
namespace {
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
}  // namespace

Result<void> check_function_name(std::string_view name) {
  const bool well_formed = !name.empty() && name.size() <= limits::function_name_length &&
                           is_letter(name.front()) && std::ranges::all_of(name, [](char c) {
                             return is_letter(c) || is_digit(c) || c == '-' || c == '_';
                           });
  if (well_formed) return {};
  return fail(ErrorCode::bad_request, "'" + std::string(name.substr(0, 80)) +
                                          "' is not a function name: use a letter, then letters, "
                                          "digits, '-' and '_', at most 64 in all");
}

bool is_entry_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && (is_letter(name.front()) || name.front() == '_') &&
         std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

Result<FunctionReference> parse_function_reference(std::string_view text) {
  FunctionReference reference;
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    reference.version_prefix = text.substr(at + 1);
    text = text.substr(0, at);
    const auto& prefix = reference.version_prefix;
    if (prefix.size() < 6 || prefix.size() > 64 || !std::ranges::all_of(prefix, is_lower_hex))
      return fail(
          ErrorCode::bad_request,
          "'" + prefix + "' is not a version: use 6 to 64 hexadecimal digits of the digest");
  }
  const std::size_t dot = text.find('.');
  if (dot != std::string_view::npos) {
    reference.entry = text.substr(dot + 1);
    text = text.substr(0, dot);
    if (!is_entry_name(reference.entry))
      return fail(ErrorCode::bad_request,
                  "'" + reference.entry + "' is not an entry name: entries are C identifiers");
  }
  reference.function = text;
  if (auto checked = check_function_name(text); !checked) return fail(std::move(checked.error()));
  return reference;
}

}  // namespace orchid
