// functions/insitu: what is looked at in the fields of a simulation that runs, for the flow in
// insitu.yaml.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "extremes.h"
#include "orchid/function.hpp"

/// The coldest and the hottest cell, and all heat.
insitu::Extremes extremes(orchid::Data<double> field) {
  if (field.size() == 0) throw std::invalid_argument("a field has cells");
  insitu::Extremes found{.least = field[0], .greatest = field[0], .sum = 0, .hottest = 0};
  for (std::size_t i = 0; i < field.size(); ++i) {
    found.least = std::min(found.least, field[i]);
    found.sum += field[i];
    if (field[i] > found.greatest) {
      found.greatest = field[i];
      found.hottest = i;
    }
  }
  return found;
}
ORCHID_FUNCTION(extremes)

/// How many cells are in each tenth of what lies between 0 and 1.
std::vector<std::uint64_t> histogram(orchid::Data<double> field) {
  constexpr std::size_t parts = 10;
  std::vector<std::uint64_t> counts(parts);
  for (std::size_t i = 0; i < field.size(); ++i)
    ++counts[static_cast<std::size_t>(std::clamp(field[i] * parts, 0.0, parts - 1.0))];
  return counts;
}
ORCHID_FUNCTION(histogram)

std::string report(const insitu::Extremes& found, std::span<const std::uint64_t> counts,
                   std::uint32_t columns) {
  if (columns == 0) throw std::invalid_argument("a field has columns");
  std::array<char, 160> line{};
  std::snprintf(line.data(), line.size(), "heat %.9f, %.6f to %.6f, hottest at (%llu, %llu); cells",
                found.sum, found.least, found.greatest,
                static_cast<unsigned long long>(found.hottest % columns),
                static_cast<unsigned long long>(found.hottest / columns));
  std::string text = line.data();
  for (const std::uint64_t count : counts) text += " " + std::to_string(count);
  return text;
}
ORCHID_FUNCTION(report)
