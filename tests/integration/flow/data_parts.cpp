// Functions that make data, change it, and look at it. None of its bytes is in an input or output.
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>

#include "orchid/function.hpp"

/// 0, 1, 2, …
std::optional<orchid::NewData<double>> fill(orchid::Call& call, std::uint64_t count) {
  auto room = orchid::Room<double>::create(call, count);
  if (!room) return std::nullopt;
  const auto values = room->span();
  std::iota(values.begin(), values.end(), 0.0);
  return room->as_result(count);
}
ORCHID_FUNCTION(fill)

std::optional<orchid::NewData<double>> scale(orchid::Call& call, orchid::Data<double> values,
                                             double factor) {
  auto room = orchid::Room<double>::create(call, values.size());
  if (!room) return std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i) room->span()[i] = factor * values[i];
  return room->as_result(values.size());
}
ORCHID_FUNCTION(scale)

std::optional<orchid::NewData<double>> add(orchid::Call& call, orchid::Data<double> values,
                                           orchid::Data<double> others) {
  if (values.size() != others.size()) return std::nullopt;
  auto room = orchid::Room<double>::create(call, values.size());
  if (!room) return std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i) room->span()[i] = values[i] + others[i];
  return room->as_result(values.size());
}
ORCHID_FUNCTION(add)

double element(std::uint64_t number, orchid::Data<double> values) {
  return number < values.size() ? values[number] : -1;
}
ORCHID_FUNCTION(element)

std::uint64_t eight_times(orchid::Data<double> values) { return 8 * values.size(); }
ORCHID_FUNCTION(eight_times)

double total(orchid::Data<double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}
ORCHID_FUNCTION(total)

/// Of both and a number: a call that is given data, and has more to wait for.
double total_of(std::uint64_t more, orchid::Data<double> values, orchid::Data<double> others) {
  return total(values) + total(others) + static_cast<double>(more);
}
ORCHID_FUNCTION(total_of)

/// The sum after two seconds.
double late_total(orchid::Data<double> values) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
  }
  return total(values);
}
ORCHID_FUNCTION(late_total)
