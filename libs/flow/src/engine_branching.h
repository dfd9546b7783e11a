// engine_branching.h: what calls of `master` and `divide` nodes are for.
#pragma once
#include <cstdint>

#include "flow/document.h"

namespace orchid::flow {

/// `begin`: hands out, or divides; `each`: does a piece of work, or solves a branch; `end`:
/// gathers, or combines.
enum class BranchRole : std::uint8_t { begin, each, end };
inline constexpr std::uint64_t roles = 4;

[[nodiscard]] bool is_branching(NodeKind kind);
[[nodiscard]] BranchRole role_of(std::uint64_t index);
/// Of the piece of work, of the branch, or of the master's own call.
[[nodiscard]] std::uint64_t number_of(std::uint64_t index);
[[nodiscard]] std::uint64_t index_of(std::uint64_t number, BranchRole role);

}  // namespace orchid::flow
