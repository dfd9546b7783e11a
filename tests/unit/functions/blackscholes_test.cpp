#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "blackscholes/kernel.h"
#include "fake_host.h"

extern "C" EntryPoint orchid_entry_blackscholes;

using blackscholes::Option;
using blackscholes::OptionType;

namespace {

std::string span_of(const std::vector<Option>& options) {
  const std::uint64_t count = options.size();
  std::string bytes(sizeof count + count * sizeof(Option), '\0');
  std::memcpy(bytes.data(), &count, sizeof count);
  if (count > 0) std::memcpy(bytes.data() + sizeof count, options.data(), count * sizeof(Option));
  return bytes;
}

std::vector<double> prices_of(const std::string& output) {
  std::uint64_t count = 0;
  REQUIRE(output.size() >= sizeof count);
  std::memcpy(&count, output.data(), sizeof count);
  REQUIRE(output.size() == sizeof count + count * sizeof(double));
  std::vector<double> prices(count);
  if (count > 0) std::memcpy(prices.data(), output.data() + sizeof count, count * sizeof(double));
  return prices;
}

constexpr Option textbook_call{.spot = 42,
                               .strike = 40,
                               .rate = 0.1,
                               .volatility = 0.2,
                               .time = 0.5,
                               .type = OptionType::call,
                               .reserved = 0};
constexpr Option textbook_put{.spot = 42,
                              .strike = 40,
                              .rate = 0.1,
                              .volatility = 0.2,
                              .time = 0.5,
                              .type = OptionType::put,
                              .reserved = 0};

}  // namespace

TEST_CASE("the textbook's options have the textbook's prices") {
  // Hull, Options, Futures and Other Derivatives; the first row of PARSEC's input as well.
  const auto answer = call_entry(orchid_entry_blackscholes, span_of({textbook_call, textbook_put}));
  REQUIRE(answer.status == ORCHID_OK);
  const auto prices = prices_of(answer.output);
  REQUIRE(prices.size() == 2);
  CHECK(prices[0] == doctest::Approx(4.759422).epsilon(1e-6));
  CHECK(prices[1] == doctest::Approx(0.808600).epsilon(1e-5));
}

TEST_CASE("no options have no prices") {
  const auto answer = call_entry(orchid_entry_blackscholes, span_of({}));
  CHECK(answer.status == ORCHID_OK);
  CHECK(prices_of(answer.output).empty());
}

TEST_CASE("an input that is no span of options is refused with what would be one") {
  const std::string good = span_of({textbook_call});
  for (const std::string& bad : {std::string{}, good.substr(0, 7), good.substr(0, good.size() - 1),
                                 good + "x", std::string(8, '\xff') + good.substr(8)}) {
    const auto answer = call_entry(orchid_entry_blackscholes, bad);
    CHECK(answer.status == ORCHID_BAD_ARGUMENTS);
    CHECK(answer.error.find("48 bytes for each") != std::string::npos);
    CHECK(answer.output.empty());
  }
}
