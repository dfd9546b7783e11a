// inspector/inspection_turns.h: whose module is read next.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>

namespace orchid::gateway {

/// Of those that wait, by tenant and in the order in which they came: the first one of a tenant who
/// has the fewest in the server. Nothing: all of them have `most` there. Pure.
[[nodiscard]] std::optional<std::size_t> next_inspection(std::span<const uid_t> waiting,
                                                         std::span<const uid_t> running,
                                                         std::size_t most);

}  // namespace orchid::gateway
