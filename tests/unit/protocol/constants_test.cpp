// Values for a module's constants as text, and what cannot be one.
#include "protocol/constants.h"

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/digest.h"

namespace orchid {
namespace {

Constant constant_of(std::string name, std::initializer_list<unsigned> bytes) {
  Constant constant{.name = std::move(name), .value = {}};
  for (const unsigned byte : bytes) constant.value.push_back(static_cast<std::byte>(byte));
  return constant;
}

}  // namespace

TEST_CASE("constants come back as they were, and their order does not matter") {
  const std::vector<Constant> constants{constant_of("columns", {0x0a, 0xff}),
                                        constant_of("rows_2", {})};
  const auto text = encode_constants(constants);
  REQUIRE(text.has_value());
  CHECK(*text == "columns=0aff\nrows_2=\n");
  CHECK(encode_constants({constants[1], constants[0]}) == *text);
  CHECK(parse_constants(*text) == constants);
  CHECK(encode_constants({}) == std::string());
  CHECK(parse_constants("") == std::vector<Constant>());
}

TEST_CASE("a module has another digest with constants set") {
  const std::string base = "sha256:" + std::string(64, '1');
  const std::string digest = digest_with_constants(base, "a=00\n");
  CHECK(is_digest(digest));
  CHECK(digest == digest_of(std::as_bytes(
                      std::span(std::string_view("orchid constants 1\n" + base + "\na=00\n")))));
  CHECK(digest != digest_with_constants(base, "a=01\n"));
  CHECK(digest != digest_with_constants("sha256:" + std::string(64, '2'), "a=00\n"));
}

TEST_CASE("what no module can have is refused") {
  for (const char* name : {"", "a b", "a=b", "a\nb", "\xc3\xa4"}) {
    const auto refused = encode_constants({constant_of(name, {1})});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::bad_request);
  }
  CHECK(encode_constants({constant_of(std::string(longest_constant_name, 'n'), {1})}).has_value());
  CHECK_FALSE(encode_constants({constant_of(std::string(longest_constant_name + 1, 'n'), {1})})
                  .has_value());
  CHECK(encode_constants({constant_of("a", {1}), constant_of("a", {2})}).error().code ==
        ErrorCode::bad_request);
  Constant large = constant_of("large", {});
  large.value.resize(longest_constants / 2);
  CHECK(encode_constants({large}).error().code == ErrorCode::too_large);
  large.value.resize(longest_constants / 2 - 8);
  CHECK(encode_constants({large}).has_value());
  std::vector<Constant> many;
  for (std::size_t i = 0; i <= most_constants; ++i)
    many.push_back(constant_of("c" + std::to_string(i), {}));
  CHECK(encode_constants(many).error().code == ErrorCode::too_large);
}

TEST_CASE("text that nobody has encoded is refused") {
  for (const char* text :
       {"a", "a=", "a=0\n", "a=0g\n", "a=0A\n", "=00\n", "a=00\n\n", "a=00\nb"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_constants(text).has_value());
  }
}

TEST_CASE("text that is too long is refused, whatever it says") {
  const std::string longest = "a=" + std::string(longest_constants - 4, '0') + "\n";
  CHECK(parse_constants(longest + "\n").error().code == ErrorCode::bad_request);
  CHECK(parse_constants("b=\n" + longest).error().code == ErrorCode::too_large);
  CHECK(parse_constants(std::string(longest_constants, '\n')).error().code ==
        ErrorCode::bad_request);
  CHECK(parse_constants(std::string(longest_constants + 1, '\n')).error().code ==
        ErrorCode::too_large);
}

}  // namespace orchid
