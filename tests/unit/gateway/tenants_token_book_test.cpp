#include "tenants/token_book.h"

#include <doctest/doctest.h>

namespace orchid::gateway {
namespace {

struct Fixture {
  std::string token = make_token();
  TokenBook book{
      {.uid = 1000, .name = "ada"},
      {{.hash = hash_token(token), .tenant = {.uid = 1000, .name = "ada"}, .label = "owner"},
       {.hash = hash_token("orc_other"), .tenant = {.uid = 1001, .name = "bob"}, .label = "b"}}};
};

TEST_CASE_FIXTURE(Fixture, "a token names its tenant") {
  const std::string header = "Bearer " + token;
  CHECK(book.authenticate({header, std::nullopt})->tenant.name == "ada");
  CHECK(book.authenticate({"bearer  orc_other ", std::nullopt})->tenant.name == "bob");
}

TEST_CASE_FIXTURE(Fixture, "no token, a wrong token and another scheme are refused") {
  for (const char* header : {"", "Bearer wrong", "Bearer ", "Basic YTpi", "Bearer"}) {
    CAPTURE(header);
    const auto refused = book.authenticate({header, std::nullopt});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::unauthenticated);
  }
}

TEST_CASE_FIXTURE(Fixture, "on a Unix socket the owner and root need no token") {
  CHECK(book.authenticate({"", 1000})->tenant.uid == 1000);
  CHECK(book.authenticate({"", 0})->tenant.uid == 1000);
}

TEST_CASE_FIXTURE(Fixture, "another user on the Unix socket is refused, but may use a token") {
  const auto refused = book.authenticate({"", 1002});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::denied);
  CHECK(book.authenticate({"Bearer orc_other", 1002})->tenant.name == "bob");
}

TEST_CASE_FIXTURE(Fixture, "a wrong token is not saved by the right uid") {
  CHECK_FALSE(book.authenticate({"Bearer wrong", 1000}).has_value());
}

TEST_CASE("tokens are long, different, and not what is stored") {
  const std::string a = make_token();
  CHECK(a.size() == 68);
  CHECK(a != make_token());
  CHECK(hash_token(a).size() == 64);
  CHECK(a.find(hash_token(a)) == std::string::npos);
}

}  // namespace
}  // namespace orchid::gateway
