// The example functions/specialise: code that is made for a filter makes what other code does.
#include <array>
#include <cstdint>
#include <vector>

#include "crew_fixture.h"

namespace orchid::tests {
namespace {

std::vector<std::byte> filter_of(std::uint32_t taps, std::uint32_t samples, std::uint32_t passes) {
  std::vector<std::byte> input(16 + (std::size_t{taps} + samples) * sizeof(double));
  const std::array<std::uint32_t, 4> head{taps, samples, passes, 0};
  std::memcpy(input.data(), head.data(), sizeof(head));
  for (std::uint32_t i = 0; i < taps + samples; ++i) {
    const double value = i < taps ? 1.0 / (3.0 + i) : (i * 7919U % 1000U) / 17.0;
    std::memcpy(input.data() + 16 + i * sizeof(double), &value, sizeof(value));
  }
  return input;
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture, "code made for a filter makes what code for any filter makes") {
  Crew crew = take({.workers = 2});
  const std::filesystem::path module = std::filesystem::path(EXAMPLES) / "specialise.bc";
  const CrewFunction plain = entry_of(crew, module, "filter_plain");
  const CrewFunction made = entry_of(crew, module, "filter_made");
  for (const std::uint32_t taps : {1U, 5U, 32U, 5U})
    for (const std::uint32_t passes : {0U, 1U, 20U}) {
      CAPTURE(taps);
      const auto input = filter_of(taps, 1000, passes);
      const auto expected = plain.invoke(1, input).output;
      REQUIRE(expected.size() == 1000 * sizeof(double));
      for (unsigned member = 1; member <= 2; ++member)
        CHECK(made.invoke(member, input).output == expected);
    }
  check_clear(error_of([&] { (void)made.invoke(1, filter_of(33, 1000, 1)); }),
              ErrorKind::bad_request);
  CHECK(crew.formations() == 1);
}

}  // namespace orchid::tests
