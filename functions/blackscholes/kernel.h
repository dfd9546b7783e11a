// blackscholes/kernel.h: the price of a European option after Black and Scholes, as PARSEC's
// blackscholes computes it. One source for the Orchid function and for the native program that it
// is compared with.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace blackscholes {

enum class OptionType : std::int32_t { call = 0, put = 1 };

/// One option, 48 bytes, as it lies in the input.
struct Option {
  double spot;        // price of the stock now
  double strike;      // price agreed upon
  double rate;        // risk-free interest per year, 0.05 = 5 %
  double volatility;  // standard deviation of the stock's return per year
  double time;        // years until the option ends
  OptionType type;
  std::int32_t reserved;
};
static_assert(sizeof(Option) == 48 && offsetof(Option, type) == 40);

/// The cumulative normal distribution by the polynomial 26.2.17 of Abramowitz and Stegun (absolute
/// error below 7.5e-8).
inline double cumulative_normal(double x) {
  constexpr double inverse_sqrt_two_pi = 0.39894228040143270286;
  const double magnitude = std::fabs(x);
  const double density = inverse_sqrt_two_pi * std::exp(-0.5 * magnitude * magnitude);
  const double k = 1.0 / (1.0 + 0.2316419 * magnitude);
  const double polynomial =
      k *
      (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
  const double upper_tail = density * polynomial;
  return x < 0 ? upper_tail : 1.0 - upper_tail;
}

inline double price(const Option& option) {
  const double deviation = option.volatility * std::sqrt(option.time);
  const double d1 = ((option.rate + 0.5 * option.volatility * option.volatility) * option.time +
                     std::log(option.spot / option.strike)) /
                    deviation;
  const double d2 = d1 - deviation;
  const double discounted_strike = option.strike * std::exp(-option.rate * option.time);
  const double n1 = cumulative_normal(d1);
  const double n2 = cumulative_normal(d2);
  if (option.type == OptionType::call) return option.spot * n1 - discounted_strike * n2;
  return discounted_strike * (1.0 - n2) - option.spot * (1.0 - n1);
}

inline void price_all(const Option* options, std::size_t count, double* prices) {
  for (std::size_t i = 0; i < count; ++i) prices[i] = price(options[i]);
}

}  // namespace blackscholes
