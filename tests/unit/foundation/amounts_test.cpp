#include "foundation/amounts.h"

#include <doctest/doctest.h>

#include "foundation/numbers.h"

namespace orchid {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST_CASE("a number is all of a text, or what it begins with") {
  CHECK(parse_number<std::uint16_t>("65535") == 65'535);
  CHECK(parse_number<int>("-1") == -1);
  CHECK(parse_number<double>("0.25") == 0.25);
  for (const char* wrong : {"", " 1", "1 ", "+1", "-1", "0x1", "65536", "1.0"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_number<std::uint16_t>(wrong).has_value());
  }
  CHECK(leading_number<std::uint64_t>("17 kB") == 17);
  CHECK_FALSE(leading_number<std::uint64_t>("kB 17").has_value());
  std::string_view list = "3,-4x";
  CHECK(take_number<int>(list) == 3);
  CHECK_FALSE(take_number<int>(list).has_value());
  CHECK(list == ",-4x");
}

TEST_CASE("whole numbers have a range, which a refusal names") {
  CHECK(parse_whole_number("64", {1, 64}).value() == 64);
  for (const char* wrong : {"", "0", "65", "-1", "4.0", "4 ", "99999999999999999999"}) {
    CAPTURE(wrong);
    const auto parsed = parse_whole_number(wrong, {1, 64});
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().code == ErrorCode::bad_request);
    CHECK(parsed.error().message.find("from 1 to 64") != std::string::npos);
  }
}

TEST_CASE("sizes are read as people write them") {
  CHECK(parse_byte_count("64MiB").value() == 64_MiB);
  CHECK(parse_byte_count("1 GiB").value() == 1_GiB);
  CHECK(parse_byte_count("4096").value() == 4096_B);
  for (const char* wrong :
       {"", "x", "-1", "1MB", "1.5GiB", "99999999999999999999", "99999999999GiB"})
    CHECK(parse_byte_count(wrong).error().code == ErrorCode::bad_request);
}

TEST_CASE("a size out of its range is refused with the range") {
  CHECK(parse_byte_count("64MiB", {64_MiB, 1_GiB}).value() == 64_MiB);
  const auto message = [](const char* text, SizeRange range) {
    return parse_byte_count(text, range).error().message;
  };
  CHECK(message("63MiB", {64_MiB, 1_GiB}).find("from 64 MiB to 1 GiB") != std::string::npos);
  CHECK(message("2GiB", {64_MiB, 1_GiB}).find("from 64 MiB to 1 GiB") != std::string::npos);
  CHECK(message("1MiB", {.least = 64_MiB}).find("of 64 MiB or more") != std::string::npos);
}

TEST_CASE("durations are read as people write them") {
  CHECK(parse_duration("250us").value() == microseconds(250));
  CHECK(parse_duration("250ms").value() == milliseconds(250));
  CHECK(parse_duration("30s").value() == seconds(30));
  CHECK(parse_duration("2m").value() == minutes(2));
  CHECK(parse_duration("48h").value() == hours(48));
  CHECK(parse_duration("31d").value() == hours(24 * 31));
  CHECK(parse_duration("1h 30m").value() == minutes(90));
  CHECK(parse_duration("1h30m").value() == minutes(90));
  CHECK(parse_duration(" 1h 5m").value() == hours(1) + minutes(5));
  CHECK(parse_duration("1.5 s").value() == milliseconds(1500));
  CHECK(parse_duration("4.35s").value() == milliseconds(4350));
  CHECK(parse_duration("90").value() == seconds(90));
  CHECK(parse_duration("0").value().count() == 0);
}

TEST_CASE("durations are read as Slurm writes them") {
  CHECK(parse_duration("02:30").value() == seconds(150));
  CHECK(parse_duration("01:30:00").value() == hours(1) + minutes(30));
  CHECK(parse_duration("1-23:59:59").value() == hours(48) - seconds(1));
}

TEST_CASE("what is no duration is refused with examples of what is") {
  for (const char* text : {"", "  ", "soon", "-1s", "1x", "1e400s", "1:2:3:4", "1:", "nan", "inf",
                           "999999d", "5 s s", "1-2:30", "-1:00:00", "1-1:00:00 s"}) {
    CAPTURE(text);
    const auto parsed = parse_duration(text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().code == ErrorCode::bad_request);
    CHECK(parsed.error().message.find("30s") != std::string::npos);
  }
}

TEST_CASE("a duration out of its range is refused with the range") {
  const DurationRange day{milliseconds(10), hours(24)};
  CHECK(parse_duration("10ms", day).value() == milliseconds(10));
  CHECK(parse_duration("24h", day).value() == hours(24));
  for (const char* text : {"9ms", "25h", "99999999999999999999s"}) {
    CAPTURE(text);
    const auto parsed = parse_duration(text, day);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().message.find("from 10ms to 1d") != std::string::npos);
  }
}

TEST_CASE("a duration is written so that it is read back") {
  CHECK(to_duration_text(seconds(0)) == "0s");
  CHECK(to_duration_text(minutes(90)) == "1h 30m");
  CHECK(to_duration_text(milliseconds(1500)) == "1s 500ms");
  for (const nanoseconds duration : {nanoseconds(1), nanoseconds(hours(50)) + nanoseconds(17)})
    CHECK(parse_duration(to_duration_text(duration)).value() == duration);
}

}  // namespace orchid
