#include "module/typed_values.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "foundation/files.h"

using namespace orchid;
using namespace orchid::module;

namespace {

Signature signature(std::string_view text) {
  auto parsed = parse_signature(text);
  REQUIRE(parsed.has_value());
  return *parsed;
}

std::string values_failure_of(std::string_view text, std::string_view json) {
  const auto encoded = encode_arguments(signature(text), json);
  REQUIRE_FALSE(encoded.has_value());
  CHECK(encoded.error().code == ErrorCode::bad_request);
  return encoded.error().message;
}

/// Encodes `json` as the one argument of `type`, and decodes it again as a result.
std::string round_trip(const std::string& type, const std::string& json) {
  const auto encoded = encode_arguments(signature("void(" + type + ")"), "[" + json + "]");
  REQUIRE_MESSAGE(encoded.has_value(), encoded.error().message);
  CHECK(encoded->size() % 8 == 0);
  const auto decoded = decode_result(signature(type + "()"), *encoded);
  REQUIRE_MESSAGE(decoded.has_value(), decoded.error().message);
  return *decoded;
}

template <typename T>
T load_at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value{};
  REQUIRE(offset + sizeof(T) <= bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace

TEST_CASE("values survive the way through bytes") {
  const std::pair<const char*, const char*> cases[] = {
      {"bool", "true"},
      {"i8", "-128"},
      {"u8", "255"},
      {"i16", "-32768"},
      {"u16", "65535"},
      {"i32", "-2147483648"},
      {"u32", "4294967295"},
      {"i64", "-9223372036854775808"},
      {"u64", "18446744073709551615"},
      {"f32", "0.1"},
      {"f64", "0.1"},
      {"f64", "\"NaN\""},
      {"f32", "\"-Infinity\""},
      {"string", "\"gr\xc3\xbc\xc3\x9f\""},
      {"string", "\"\""},
      {"span<f64>", "[1.5,2.5,-3.0]"},
      {"span<u8>", "[]"},
      {"span<bool>", "[true,false,true]"},
      {"struct<16,8:f64@0,i32@8>", "[2.5,-7]"},
      {"span<struct<3,1:u8@0,u8@1,u8@2>>", "[[1,2,3],[4,5,6]]"}};
  for (const auto& [type, json] : cases) CHECK(round_trip(type, json) == json);
}

TEST_CASE("items lie at multiples of eight, padded with zeros") {
  const auto bytes =
      encode_arguments(signature("void(u8,span<f32>,string,f64)"), R"([7,[1,2,3],"ab",9])");
  REQUIRE(bytes.has_value());
  CHECK(bytes->size() == 8 + 8 + 16 + 8 + 8 + 8);
  CHECK(load_at<std::uint64_t>(*bytes, 0) == 7);
  CHECK(load_at<std::uint64_t>(*bytes, 8) == 3);
  CHECK(load_at<float>(*bytes, 16 + 8) == 3.0F);
  CHECK(load_at<std::uint32_t>(*bytes, 16 + 12) == 0);
  CHECK(load_at<std::uint64_t>(*bytes, 32) == 2);
  CHECK(load_at<std::uint64_t>(*bytes, 40) == 0x6261);
  CHECK(load_at<double>(*bytes, 48) == 9.0);
}

TEST_CASE("a wrong argument is named with what was expected and what came") {
  CHECK(values_failure_of("f64(f64,span<f64>)", R"([1,"x"])") ==
        "argument 2 should be span<f64>, got a string");
  CHECK(values_failure_of("f64(span<i32>)", "[[1,2.5]]") ==
        "argument 1 should be span<i32>, got 2.5 as element 1");
  CHECK(values_failure_of("f64(u8)", "[256]") == "argument 1 should be u8, got 256");
  CHECK(values_failure_of("f64(u64)", "[-1]") == "argument 1 should be u64, got -1");
  CHECK(values_failure_of("f64(i64)", "[9223372036854775808]") ==
        "argument 1 should be i64, got 9223372036854775808");
  CHECK(values_failure_of("f64(f32)", "[1e300]") == "argument 1 should be f32, got 1e+300");
  CHECK(values_failure_of("f64(bool)", "[1]") == "argument 1 should be bool, got 1");
  CHECK(values_failure_of("f64(f64)", "[null]") == "argument 1 should be f64, got null");
  CHECK(values_failure_of("f64(struct<16,8:f64@0,i32@8>)", "[[1]]") ==
        "argument 1 should be struct<16,8:f64@0,i32@8>, got an array of 1");
  CHECK(values_failure_of("f64(f64,f64)", "[1]") ==
        "the function is f64(f64,f64) and takes 2 arguments, got 1");
  CHECK(values_failure_of("f64(f64)", "3").find("should be a JSON array of 1, got 3") !=
        std::string::npos);
  CHECK(values_failure_of("f64(f64)", "[1").find("not JSON") != std::string::npos);
  CHECK(values_failure_of("f64(f64)", std::string(200'000, '[')).find("not JSON") !=
        std::string::npos);
}

TEST_CASE("an array from a .npy file fits a span of its element type") {
  const double values[] = {1, 2, 3, 4};
  const NpyArray array{
      .element = Scalar::f64, .shape = {2, 2}, .data = std::as_bytes(std::span(values))};
  const std::vector<Argument> arguments{JsonText{"2.5"}, array};
  const auto mixed = encode_arguments(signature("void(f64,span<f64>)"), arguments);
  REQUIRE(mixed.has_value());
  CHECK(*mixed == *encode_arguments(signature("void(f64,span<f64>)"), "[2.5,[1,2,3,4]]"));

  const auto wrong = encode_arguments(signature("void(f64,span<f32>)"), arguments);
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().message ==
        "argument 2 should be span<f32>, got an array of f64 from a .npy file");
  CHECK_FALSE(encode_arguments(signature("void(f64,f64)"), arguments).has_value());
}

TEST_CASE("a result that does not fit its type is refused") {
  const std::vector<std::byte> eight(8);
  std::vector<std::byte> many(16);
  many[7] = std::byte{0x20};  // 2^61 elements
  CHECK(decode_result(signature("void()"), {}) == "null");
  CHECK_FALSE(decode_result(signature("void()"), eight).has_value());
  CHECK_FALSE(decode_result(signature("f64()"), {}).has_value());
  CHECK_FALSE(decode_result(signature("f64()"), many).has_value());
  CHECK_FALSE(decode_result(signature("span<f64>()"), many).has_value());
  CHECK_FALSE(decode_result(signature("span<f64>()"), std::span(eight).first(7)).has_value());
  CHECK_FALSE(decode_result(signature("string()"), many).has_value());
  CHECK(decode_result(signature("span<f64>()"), eight) == "[]");
}

TEST_CASE("a result that is a data object is its id") {
  const std::vector<std::byte> id(16, std::byte{0xa1});
  CHECK(decode_result(signature("data<f64>()"), id) == "\"d-a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1\"");
  CHECK_FALSE(decode_result(signature("data<f64>()"), std::span(id).first(8)).has_value());
}

TEST_CASE("data objects are not among the arguments that are written") {
  const Signature with_data = signature("f64(data<f64>,u8,data<f32>)");
  CHECK(*encode_arguments(with_data, "[7]") == *encode_arguments(signature("f64(u8)"), "[7]"));
  const std::vector<Argument> one{JsonText{"7"}};
  CHECK(*encode_arguments(with_data, one) == *encode_arguments(with_data, "[7]"));
  const auto refused = encode_arguments(with_data, "[1,7,2]");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("takes 1 arguments and data, got 3") != std::string::npos);
}

TEST_CASE("text that is not UTF-8 is still shown") {
  std::vector<std::byte> bytes(16);
  bytes[0] = std::byte{2};
  bytes[8] = std::byte{0xff};
  bytes[9] = std::byte{'a'};
  CHECK(decode_result(signature("string()"), bytes) ==
        "\"\xef\xbf\xbd"
        "a\"");
}
