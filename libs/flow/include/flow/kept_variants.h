// flow/kept_variants.h: what was learned of variants, for where it is kept: as JSON, and bounded.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "flow/variants.h"
#include "foundation/result.h"

namespace orchid::flow {

inline constexpr std::size_t most_kept_variants = 256;  // choices

/// {"variants": [{"functions": […], "device": "any", "piece_seconds": 0.1, "relative": […],
/// "calls": […]}]}
[[nodiscard]] std::string to_json(const std::vector<KeptVariants>& kept);
/// Errors: `bad_request`.
[[nodiscard]] Result<std::vector<KeptVariants>> parse_kept_variants(std::string_view json);

/// What was learned last comes first, in place of what was known of the same functions; of more
/// than there is room for the oldest go.
[[nodiscard]] std::vector<KeptVariants> with_learned(std::vector<KeptVariants> kept,
                                                     std::vector<KeptVariants> learned);

}  // namespace orchid::flow
