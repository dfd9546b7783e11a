#include "orchid/values.h"

#include <doctest/doctest.h>

namespace {

struct Point {
  double x = 0;
  float weight = 0;
  bool used = false;
};
ORCHID_STRUCT(Point, x, weight, used)

struct Segment {
  Point ends[2];
  std::int32_t id = 0;
};
ORCHID_STRUCT(Segment, ends, id)

enum class Colour : std::uint16_t { red, green };

/// Aligned as the buffers of a call are.
std::span<const std::byte> bytes_of_values(const std::vector<std::byte>& bytes) { return bytes; }

}  // namespace

namespace orchid::values {

TEST_CASE("a function's type has its signature as text") {
  CHECK(signature_of<double(std::span<const double>, std::span<const double>)>() ==
        "f64(span<f64>,span<f64>)");
  CHECK(signature_of<void()>() == "void()");
  CHECK(signature_of<std::string(std::string_view, bool, char, Colour)>() ==
        "string(string,bool,i8,u16)");
  CHECK(signature_of<std::vector<float>(const std::vector<std::int8_t>&, std::uint64_t)>() ==
        "span<f32>(span<i8>,u64)");
  CHECK(signature_of<void(Point)>() == "void(struct<16,8:f64@0,f32@8,bool@12>)");
  CHECK(signature_of<std::int64_t(std::span<Segment>)>() ==
        "i64(span<struct<40,8:f64@0,f32@8,bool@12,f64@16,f32@24,bool@28,i32@32>>)");
}

TEST_CASE("values come back as they went, each at a multiple of 8") {
  const std::vector<double> numbers{1.5, -2.5};
  const Point point{.x = 3, .weight = 4, .used = true};
  const auto bytes =
      encode_all(std::int32_t{-7}, std::span<const double>(numbers), std::string_view("né"), point);
  CHECK(bytes.size() == 8 + 24 + 16 + 16);
  std::tuple<std::int32_t, std::vector<double>, std::string, Point> back;
  Decoder decoder(bytes_of_values(bytes));
  REQUIRE(decode_all(decoder, back));
  CHECK(std::get<0>(back) == -7);
  CHECK(std::get<1>(back) == numbers);
  CHECK(std::get<2>(back) == "né");
  CHECK(std::get<3>(back).weight == 4);
  CHECK(std::get<3>(back).used);
}

TEST_CASE("empty sequences and no arguments at all travel, too") {
  CHECK(encode_all().empty());
  const auto bytes = encode_all(std::vector<Point>{}, std::string());
  CHECK(bytes.size() == 16);
  std::tuple<std::span<Point>, std::string_view> back;
  Decoder decoder(bytes_of_values(bytes));
  REQUIRE(decode_all(decoder, back));
  CHECK(std::get<0>(back).empty());
  CHECK(std::get<1>(back).empty());
}

TEST_CASE("bytes that are too few or too many are refused, naming the value") {
  const auto bytes = encode_all(std::vector<double>{1, 2, 3});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::vector<double> value;
    Decoder decoder(bytes_of_values(bytes).subspan(0, size));
    CAPTURE(size);
    CHECK_FALSE(decoder.read(value));
    CHECK(decoder.problem().find("value 1") != std::string::npos);
  }
  Decoder decoder(bytes_of_values(bytes));
  std::uint64_t only = 0;
  CHECK(decoder.read(only));
  CHECK_FALSE(decoder.finish());
  CHECK(decoder.problem().find("24 bytes follow") != std::string::npos);
}

TEST_CASE("an element count that would overflow is refused") {
  for (const std::uint64_t count : {~std::uint64_t{0}, std::uint64_t{1} << 61U, std::uint64_t{4}}) {
    auto bytes = encode_all(std::vector<double>{1, 2, 3});
    std::memcpy(bytes.data(), &count, sizeof(count));
    std::vector<double> value;
    Decoder decoder(bytes_of_values(bytes));
    CAPTURE(count);
    CHECK_FALSE(decoder.read(value));
  }
}

TEST_CASE("a span of truth values holds nothing but 0 and 1") {
  auto bytes = encode_all(std::string("\1\0\1", 3));
  std::span<const bool> value;
  Decoder good(bytes_of_values(bytes));
  CHECK(good.read(value));
  bytes[9] = std::byte{2};
  Decoder bad(bytes_of_values(bytes));
  CHECK_FALSE(bad.read(value));
}

}  // namespace orchid::values
