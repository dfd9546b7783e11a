// functions/blackscholes: the same as the entry `blackscholes`, as an ordinary C++ function.
#include "option_prices.h"

#include "orchid/function.hpp"

std::vector<double> option_prices(std::span<const blackscholes::Option> options) {
  std::vector<double> prices(options.size());
  blackscholes::price_all(options.data(), options.size(), prices.data());
  return prices;
}
ORCHID_FUNCTION(option_prices)
