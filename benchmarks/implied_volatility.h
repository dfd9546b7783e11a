// implied_volatility.h: the volatility at which a Black-Scholes price is the price that was paid:
// what trading desks compute for each quote, some 1.5 us of arithmetic for 48 bytes.
#pragma once
#include <span>
#include <vector>

#include "blackscholes/kernel.h"
#include "orchid/embedded.h"
#include "orchid/values.h"

namespace orchid::bench {

struct Quote {
  double spot;
  double strike;
  double rate;
  double time;
  double price;
  std::int32_t type;  // a blackscholes::OptionType
  std::int32_t reserved;
};
ORCHID_STRUCT(Quote, spot, strike, rate, time, price, type, reserved)

}  // namespace orchid::bench

/// One volatility for each quote, between 0.01 and 2, by bisection.
std::vector<double> implied_volatilities(std::span<const orchid::bench::Quote> quotes);
ORCHID_DECLARE_FUNCTION(implied_volatilities)
