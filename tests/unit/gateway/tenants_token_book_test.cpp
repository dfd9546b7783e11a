#include "tenants/token_book.h"

#include <doctest/doctest.h>

namespace orchid::gateway {
namespace {

struct TokenFixture {
  std::string token = make_token();
  TokenBook book{
      {.uid = 1000, .name = "ada"},
      {{.hash = hash_token(token), .tenant = {.uid = 1000, .name = "ada"}, .label = "owner"},
       {.hash = hash_token("orc_other"), .tenant = {.uid = 1001, .name = "bob"}, .label = "b"}}};
};

TEST_CASE_FIXTURE(TokenFixture, "a token names its tenant") {
  const std::string header = "Bearer " + token;
  CHECK(book.authenticate({header, std::nullopt})->tenant.name == "ada");
  CHECK(book.authenticate({"bearer  orc_other ", std::nullopt})->tenant.name == "bob");
}

TEST_CASE_FIXTURE(TokenFixture, "no token, a wrong token and another scheme are refused") {
  for (const char* header : {"", "Bearer wrong", "Bearer ", "Basic YTpi", "Bearer"}) {
    CAPTURE(header);
    const auto refused = book.authenticate({header, std::nullopt});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::unauthenticated);
  }
}

TEST_CASE_FIXTURE(TokenFixture, "on a Unix socket the owner and root need no token") {
  CHECK(book.authenticate({"", 1000})->tenant.uid == 1000);
  CHECK(book.authenticate({"", 0})->tenant.uid == 1000);
}

TEST_CASE_FIXTURE(TokenFixture, "another user on the Unix socket is refused, but may use a token") {
  const auto refused = book.authenticate({"", 1002});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::denied);
  CHECK(book.authenticate({"Bearer orc_other", 1002})->tenant.name == "bob");
}

TEST_CASE("where everybody may, another user on the Unix socket is a tenant of its own") {
  const TokenBook book({1000, "ada"}, {}, SocketUsers::everybody);
  CHECK(book.authenticate({"", 1000})->tenant.name == "ada");
  CHECK(book.authenticate({"", 0})->tenant.uid == 1000);
  const auto other = book.authenticate({"", 4'000'000});
  REQUIRE(other.has_value());
  CHECK(other->tenant == Tenant{4'000'000, "uid 4000000"});
  CHECK(other->peer_uid == 4'000'000);
  CHECK_FALSE(book.authenticate({"", std::nullopt}).has_value());
  CHECK_FALSE(book.authenticate({"Bearer wrong", 4'000'000}).has_value());
}

TEST_CASE_FIXTURE(TokenFixture, "a tenant is who has a token, or may come over the Unix socket") {
  CHECK(book.is_tenant(1000));
  CHECK(book.is_tenant(1001));
  CHECK_FALSE(book.is_tenant(1002));
  CHECK_FALSE(book.is_tenant(0));  // root is the owner there
  CHECK(TokenBook({1000, "ada"}, {}, SocketUsers::everybody).is_tenant(1002));
}

TEST_CASE("a user is found by name, or is a number") {
  CHECK(find_user("root")->uid == 0);
  CHECK(find_user("4000000") == Tenant{4'000'000, "uid 4000000"});
  CHECK(find_user("no-such-user").error().code == ErrorCode::not_found);
  CHECK_FALSE(find_user("").has_value());
}

TEST_CASE_FIXTURE(TokenFixture, "a wrong token is not saved by the right uid") {
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
