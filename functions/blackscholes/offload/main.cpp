// blackscholes/offload: prices a file of options on this program's cores and on whatever workers
// there are, and checks each price: blackscholes-offload OPTIONS PRICES [TIMES]
//
// The function is a part of this program: nothing is deployed, and without Orchid all of it is
// computed here. TIMES makes a small file worth the effort: the range is its options so many times.
// Exit status 1: a price is wrong.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "files.h"
#include "option_prices.h"
#include "orchid/offload.h"

namespace {

using blackscholes::Option;

/// By the error function, which the kernel does without.
double exact_normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double exact_price(const Option& option) {
  const double deviation = option.volatility * std::sqrt(option.time);
  const double d1 = (std::log(option.spot / option.strike) +
                     (option.rate + 0.5 * option.volatility * option.volatility) * option.time) /
                    deviation;
  const double d2 = d1 - deviation;
  const double strike_now = option.strike * std::exp(-option.rate * option.time);
  if (option.type == blackscholes::OptionType::call)
    return option.spot * exact_normal(d1) - strike_now * exact_normal(d2);
  return strike_now * exact_normal(-d2) - option.spot * exact_normal(-d1);
}

/// The kernel's normal distribution is off by 7.5e-8 at most, and is taken once for each of the two
/// amounts.
double allowed_error(const Option& option) { return 7.5e-8 * (option.spot + option.strike); }

std::size_t count_wrong(const std::vector<Option>& options, const std::vector<double>& prices) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < options.size(); ++i)
    // Not a number is not within the bound either.
    if (!(std::fabs(prices[i] - exact_price(options[i])) <= allowed_error(options[i]))) ++wrong;
  return wrong;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: blackscholes-offload OPTIONS PRICES [TIMES]\n");
    return 2;
  }
  const auto given = blackscholes::read_span<Option>(argv[1]);
  const std::size_t times = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 1;
  std::vector<Option> options;
  for (std::size_t i = 0; i < times; ++i) options.insert(options.end(), given.begin(), given.end());
  std::vector<double> prices(options.size());

  orchid::OffloadPool pool;  // looks for a worker meanwhile
  const orchid::OffloadReport report = pool.map<option_prices>(options, prices);

  const std::size_t wrong = count_wrong(options, prices);
  std::printf("%zu options here, %zu on workers; %zu prices are wrong\n", report.local_items,
              report.worker_items, wrong);
  prices.resize(std::min(prices.size(), given.size()));
  blackscholes::write_span(argv[2], prices);
  return wrong == 0 ? 0 : 1;
} catch (const orchid::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
