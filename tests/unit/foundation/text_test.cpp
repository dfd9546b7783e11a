#include <doctest/doctest.h>

#include <string>

#include "foundation/random.h"
#include "foundation/result.h"
#include "foundation/tick_clock.h"
#include "foundation/units.h"

namespace orchid {

TEST_CASE("sizes are written as people write them") {
  CHECK(to_string(0_B) == "0 B");
  CHECK(to_string(17_B) == "17 B");
  CHECK(to_string(64_MiB) == "64 MiB");
  CHECK(to_string(1536_B) == "1.5 KiB");
}

TEST_CASE("error codes have stable names") {
  for (int i = 0; i <= static_cast<int>(ErrorCode::data_elsewhere); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    CHECK(parse_error_code(to_string(code)) == code);
  }
  CHECK_FALSE(parse_error_code("nonsense").has_value());
}

TEST_CASE("a failure gathers context on its way up") {
  CHECK(Failure{ErrorCode::system, "disk full"}.while_doing("opening the store").message ==
        "opening the store: disk full");
}

TEST_CASE("hexadecimal survives both ways, and nothing else is taken for it") {
  const std::string text = random_hex(32);
  CHECK(text.size() == 64);
  CHECK(to_hex(from_hex(text).value()) == text);
  CHECK(random_hex(32) != text);
  CHECK_FALSE(from_hex("abc").has_value());
  CHECK_FALSE(from_hex("zz").has_value());
  CHECK(equal_in_constant_time(text, text));
  CHECK_FALSE(equal_in_constant_time(text, text.substr(1)));
}

TEST_CASE("ticks convert to time and back") {
  const TickRate rate = TickRate::measure();
  const std::uint64_t ticks = rate.ticks(std::chrono::seconds(1));
  CHECK(ticks > 1'000'000);
  CHECK(std::chrono::abs(rate.duration(ticks) - std::chrono::seconds(1)) <
        std::chrono::microseconds(1));
}

}  // namespace orchid
