// library_answer.h: what a library has said, as it goes over the socket, and what may be made of
// it.
#pragma once
#include <string>
#include <string_view>

#include "flow/optimiser.h"
#include "foundation/result.h"

namespace orchid::flow {

/// {"nodes": [{"node": 3, "priority": 5, "calls": 8, "host": 0, "why": "…"}], "calls_open": 4}.
/// Errors: `bad_request`: it cannot be so in this situation, in words that follow its name ("cuts
/// node 'a' into 0 calls").
[[nodiscard]] Result<Decided> decision_of(std::string_view answer, const Situation& situation,
                                          std::string_view name);

}  // namespace orchid::flow
