// parts.cpp: a function that makes data, and one that is given it.
#include <cstdint>
#include <numeric>
#include <optional>

#include "orchid/function.hpp"

std::optional<orchid::NewData<double>> fill(orchid::Call& call, std::uint64_t cells) {
  auto room = orchid::Room<double>::create(call, cells);
  if (!room) return std::nullopt;
  std::iota(room->span().begin(), room->span().end(), 0.0);
  return room->as_result(cells);
}
ORCHID_FUNCTION(fill)

double total(orchid::Data<double> cells) {
  return std::accumulate(cells.begin(), cells.end(), 0.0);
}
ORCHID_FUNCTION(total)

double twice(double number) { return 2 * number; }
ORCHID_FUNCTION(twice)
