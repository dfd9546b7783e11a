// Expected: three typed entries; wrong typed arguments are bad_request with the signature in the
// message.
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "orchid/function.hpp"

double sum(std::span<const double> values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

std::int32_t divide(std::int32_t a, std::int32_t b) {
  if (b == 0) throw std::invalid_argument("division by zero");
  return a / b;
}

std::string greet(std::string_view name) { return "Hello, " + std::string(name) + "!"; }

ORCHID_FUNCTION(sum)
ORCHID_FUNCTION(divide)
ORCHID_FUNCTION(greet)
