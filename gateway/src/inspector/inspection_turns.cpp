#include "inspector/inspection_turns.h"

#include <algorithm>

namespace orchid::gateway {

std::optional<std::size_t> next_inspection(std::span<const uid_t> waiting,
                                           std::span<const uid_t> running, std::size_t most) {
  std::optional<std::size_t> next;
  std::size_t fewest = most;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const auto has = static_cast<std::size_t>(std::ranges::count(running, waiting[i]));
    if (has >= fewest) continue;
    fewest = has;
    next = i;
  }
  return next;
}

}  // namespace orchid::gateway
