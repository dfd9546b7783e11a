#include "atomic_history.h"

#include <set>
#include <utility>

namespace orchid::test {
namespace {

/// Which have happened, and what the number is then.
using State = std::pair<std::uint64_t, std::uint64_t>;

std::uint64_t after(const AtomicEvent& event, std::uint64_t value) {
  if (event.kind == AtomicEvent::Kind::add) return value + event.operand;
  return value == event.expected ? event.operand : value;
}

bool may_be_next(const std::vector<AtomicEvent>& events, std::uint64_t done, std::size_t next) {
  for (std::size_t i = 0; i < events.size(); ++i)
    if ((done >> i & 1) == 0 && i != next && events[i].ended < events[next].began) return false;
  return true;
}

}  // namespace

bool is_linearisable(const std::vector<AtomicEvent>& events, std::uint64_t last) {
  std::uint64_t answered = 0;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events[i].before) answered |= std::uint64_t{1} << i;
  std::vector<State> open{{0, 0}};
  std::set<State> seen(open.begin(), open.end());
  while (!open.empty()) {
    const auto [done, value] = open.back();
    open.pop_back();
    if ((done & answered) == answered && value == last) return true;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const AtomicEvent& event = events[i];
      const bool told_otherwise = event.before && *event.before != value;
      if ((done >> i & 1) != 0 || told_otherwise || !may_be_next(events, done, i)) continue;
      const State next{done | std::uint64_t{1} << i, after(event, value)};
      if (seen.insert(next).second) open.push_back(next);
    }
  }
  return false;
}

}  // namespace orchid::test
