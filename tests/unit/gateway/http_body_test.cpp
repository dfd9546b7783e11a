// Ranges and conditions of requests that read.
#include <doctest/doctest.h>

#include "http/byte_range.h"
#include "http/precondition.h"

namespace orchid::gateway {
namespace {

using RangeKind = ByteRange::Kind;

void check_part(std::string_view range, std::uint64_t begin, std::uint64_t length) {
  CAPTURE(range);
  const ByteRange part = parse_range(range, 100);
  CHECK(part.kind == RangeKind::part);
  CHECK(part.begin == begin);
  CHECK(part.length == length);
}

}  // namespace

TEST_CASE("one range of bytes is served") {
  check_part("bytes=0-9", 0, 10);
  check_part("bytes=90-", 90, 10);
  check_part("bytes=90-200", 90, 10);
  check_part("bytes=-10", 90, 10);
  check_part("bytes=-200", 0, 100);
  check_part("Bytes = 99-99", 99, 1);
  CHECK(content_range(parse_range("bytes=10-19", 100), 100) == "bytes 10-19/100");
}

TEST_CASE("a range that begins behind the end is refused with the size") {
  for (const char* range : {"bytes=100-", "bytes=200-300", "bytes=-0"}) {
    CAPTURE(range);
    CHECK(parse_range(range, 100).kind == RangeKind::unsatisfiable);
  }
  CHECK(parse_range("bytes=0-", 0).kind == RangeKind::unsatisfiable);
  CHECK(content_range(parse_range("bytes=100-", 100), 100) == "bytes */100");
}

TEST_CASE("what is no single range of bytes is answered with all of it") {
  for (const char* range :
       {"", "bytes", "bytes=", "bytes=-", "bytes=5", "bytes=9-5", "bytes=a-b", "bytes=0-1,5-6",
        "lines=0-9", "bytes=1-2-3", "bytes=0-99999999999999999999"}) {
    CAPTURE(range);
    const ByteRange whole = parse_range(range, 100);
    CHECK(whole.kind == RangeKind::whole);
    CHECK(whole.length == 100);
  }
}

TEST_CASE("If-None-Match of a request that reads names tags, weak ones too") {
  CHECK(names_tag("\"a\"", "a"));
  CHECK(names_tag("\"b\", W/\"a\"", "a"));
  CHECK(names_tag("*", "a"));
  CHECK_FALSE(names_tag("\"b\"", "a"));
  CHECK_FALSE(names_tag("a", "a"));
  CHECK_FALSE(names_tag("", "a"));
}

TEST_CASE("a precondition is about what is there") {
  CHECK(Precondition{}.is_met_by(std::nullopt));
  CHECK(Precondition{.if_match = {"a", "b"}}.is_met_by("b"));
  CHECK(Precondition{.if_match = {"*"}}.is_met_by("b"));
  CHECK_FALSE(Precondition{.if_match = {"*"}}.is_met_by(std::nullopt));
  CHECK_FALSE(Precondition{.if_match = {"a"}}.is_met_by("b"));
  CHECK(Precondition{.if_match = {}, .if_none_match = true}.is_met_by(std::nullopt));
  CHECK_FALSE(Precondition{.if_match = {}, .if_none_match = true}.is_met_by("a"));
}

}  // namespace orchid::gateway
