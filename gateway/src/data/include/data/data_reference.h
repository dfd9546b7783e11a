// data/data_reference.h: how callers write which data object they mean: `NAME`, `NAME@VERSION` or
// its id. Pure functions.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "protocol/data_id.h"

namespace orchid::gateway {

/// One of an id and a name. A value.
struct DataReference {
  std::optional<DataId> id{};
  std::string name{};
  std::optional<std::uint64_t> version{};  // of the name; nothing: the newest
};
[[nodiscard]] std::string to_string(const DataReference& reference);

/// As functions are named, but not like an id. Errors: `bad_request`, with the rule.
[[nodiscard]] Result<void> check_data_name(std::string_view name);
/// Errors: `bad_request`.
[[nodiscard]] Result<DataReference> parse_data_reference(std::string_view text);
/// The header field Orchid-Data: 1 to `limits::data_per_call` of them, with commas between them.
/// Errors: `bad_request`.
[[nodiscard]] Result<std::vector<DataReference>> parse_data_list(std::string_view text);

}  // namespace orchid::gateway
