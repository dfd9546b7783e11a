// flow/decision_text.h: what optimisers see and say, as JSON: for journals, and for libraries in
// processes of their own.
#pragma once
#include <string>
#include <string_view>

#include "flow/engine.h"
#include "flow/optimiser.h"
#include "foundation/result.h"

namespace orchid::flow {

[[nodiscard]] std::string to_json(const Decided& decided);
/// Errors: `bad_request`.
[[nodiscard]] Result<Decided> parse_decided(std::string_view json);

[[nodiscard]] std::string to_json(const Situation& situation);
/// Errors: `bad_request`.
[[nodiscard]] Result<Situation> parse_situation(std::string_view json);

}  // namespace orchid::flow
