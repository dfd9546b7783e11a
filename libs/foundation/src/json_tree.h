// json_tree.h: a JSON text as a tree, within bounds that whoever walks it can rely on.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "foundation/result.h"

namespace orchid {

/// So deep may lists and objects stand within each other: trees are walked by functions that call
/// themselves.
constexpr std::size_t deepest_json = 32;

/// Errors: `bad_request`, with what is wrong with `subject`, also if a key is there twice: readers
/// would disagree on which one counts.
[[nodiscard]] Result<nlohmann::json> parse_json_tree(std::string_view text,
                                                     std::string_view subject);

/// For messages: a key may be anything that somebody has sent.
[[nodiscard]] std::string_view shortened_key(std::string_view key);

}  // namespace orchid
