#include "foundation/base64.h"

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

using namespace orchid;

TEST_CASE("base64 is as RFC 4648 has it, in both directions") {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> known{
      {{"", ""},
       {"f", "Zg=="},
       {"fo", "Zm8="},
       {"foo", "Zm9v"},
       {"foob", "Zm9vYg=="},
       {"fooba", "Zm9vYmE="},
       {"foobar", "Zm9vYmFy"}}};
  for (const auto& [plain, encoded] : known) {
    CHECK(to_base64(std::as_bytes(std::span(plain))) == encoded);
    const auto decoded = parse_base64(encoded);
    REQUIRE(decoded.has_value());
    CHECK(std::string(reinterpret_cast<const char*>(decoded->data()), decoded->size()) == plain);
  }
}

TEST_CASE("what is no base64 is refused") {
  for (const std::string_view text :
       {"Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9 ", "Zm9\n"})
    CHECK_FALSE_MESSAGE(parse_base64(text).has_value(), std::string(text));
}
