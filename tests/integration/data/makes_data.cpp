// Entries that open and make data while they run.
#include <numeric>
#include <stdexcept>
#include <string>

#include "orchid/function.hpp"

/// Makes `count` squares, called `name`.
std::optional<std::string> squares(orchid::Call& call, std::string name, std::int64_t count) {
  auto room = orchid::Room<double>::create(call, static_cast<std::size_t>(count) * 2);
  if (!room) return std::nullopt;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    room->span()[i] = static_cast<double>(i * i);
  return room->seal(static_cast<std::size_t>(count), name);
}
ORCHID_FUNCTION(squares)

/// The same, and then it fails.
std::optional<std::string> squares_in_vain(orchid::Call& call, std::string name,
                                           std::int64_t count) {
  if (squares(call, std::move(name), count)) throw std::runtime_error("all in vain");
  return std::nullopt;
}
ORCHID_FUNCTION(squares_in_vain)

/// Says that it has used more than there is a number for.
std::optional<std::string> squares_without_number(orchid::Call& call) {
  auto room = orchid::Room<double>::create(call, 1);
  if (!room) return std::nullopt;
  return room->seal((std::size_t{1} << 61U) + 1);
}
ORCHID_FUNCTION(squares_without_number)

std::optional<double> sum_of(orchid::Call& call, std::string name) {
  const auto data = orchid::open_data<double>(call, name);
  if (!data) return std::nullopt;
  return std::accumulate(data->begin(), data->end(), 0.0);
}
ORCHID_FUNCTION(sum_of)
