#include "implied_volatility.h"

#include "orchid/function.hpp"

namespace {

double implied_volatility(const orchid::bench::Quote& quote) {
  blackscholes::Option option{.spot = quote.spot,
                              .strike = quote.strike,
                              .rate = quote.rate,
                              .volatility = 0,
                              .time = quote.time,
                              .type = static_cast<blackscholes::OptionType>(quote.type),
                              .reserved = 0};
  double low = 0.01;
  double high = 2;
  for (int step = 0; step < 40; ++step) {
    option.volatility = 0.5 * (low + high);
    (blackscholes::price(option) < quote.price ? low : high) = option.volatility;
  }
  return option.volatility;
}

}  // namespace

std::vector<double> implied_volatilities(std::span<const orchid::bench::Quote> quotes) {
  std::vector<double> volatilities;
  volatilities.reserve(quotes.size());
  for (const orchid::bench::Quote& quote : quotes)
    volatilities.push_back(implied_volatility(quote));
  return volatilities;
}
ORCHID_FUNCTION(implied_volatilities)
