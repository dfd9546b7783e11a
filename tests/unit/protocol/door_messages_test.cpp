#include "protocol/door_messages.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

namespace orchid {
namespace {

template <typename Message>
std::array<std::byte, sizeof(Message)> bytes_of(const Message& message) {
  std::array<std::byte, sizeof(Message)> bytes{};
  std::memcpy(bytes.data(), &message, sizeof(message));
  return bytes;
}

ErrorCode refusal_of(const DoorHello& hello) {
  const auto parsed = parse_door_hello(bytes_of(hello));
  REQUIRE_FALSE(parsed.has_value());
  return parsed.error().code;
}

ErrorCode refusal_of(const DoorWelcome& welcome) {
  const auto parsed = parse_door_welcome(bytes_of(welcome));
  REQUIRE_FALSE(parsed.has_value());
  return parsed.error().code;
}

}  // namespace

TEST_CASE("a hello says who is there, or is refused with the reason") {
  const auto hello = parse_door_hello(bytes_of(DoorHello{.token_bytes = 68}));
  REQUIRE(hello.has_value());
  CHECK(hello->token_bytes == 68);
  CHECK(refusal_of(DoorHello{.magic = {'G', 'E', 'T', ' ', '/'}}) == ErrorCode::bad_request);
  CHECK(refusal_of(DoorHello{.version = 2, .token_bytes = 68}) == ErrorCode::unsupported);
  CHECK(refusal_of(DoorHello{.token_bytes = 0}) == ErrorCode::unauthenticated);
  CHECK(refusal_of(DoorHello{.token_bytes = 4097}) == ErrorCode::too_large);
}

TEST_CASE("a welcome opens a lane or refuses, and nothing in between") {
  CHECK(parse_door_welcome(bytes_of(DoorWelcome{.port = 4711})).has_value());
  CHECK(parse_door_welcome(bytes_of(DoorWelcome{.status = 401, .text_bytes = 20})).has_value());
  CHECK(refusal_of(DoorWelcome{.magic = {'H', 'T', 'T', 'P'}}) == ErrorCode::bad_request);
  CHECK(refusal_of(DoorWelcome{.version = 9, .port = 4711}) == ErrorCode::unsupported);
  CHECK(refusal_of(DoorWelcome{.port = 0}) == ErrorCode::bad_request);
  CHECK(refusal_of(DoorWelcome{.text_bytes = 1, .port = 4711}) == ErrorCode::bad_request);
  CHECK(refusal_of(DoorWelcome{.status = 302, .port = 4711}) == ErrorCode::bad_request);
  CHECK(refusal_of(DoorWelcome{.status = 401, .text_bytes = 1U << 31}) == ErrorCode::bad_request);
}

TEST_CASE("a token that could end its line is not taken") {
  CHECK(is_clean_token("orc_0123456789abcdef"));
  CHECK_FALSE(is_clean_token(""));
  CHECK_FALSE(is_clean_token("orc\r\nHost: elsewhere"));
  CHECK_FALSE(is_clean_token("orc 1"));
  CHECK_FALSE(is_clean_token(std::string_view("orc\0", 4)));
  CHECK_FALSE(is_clean_token("\xc3\xa4"));
}

TEST_CASE("random bytes are no message of the door") {
  std::mt19937 random(20261121);  // NOLINT(bugprone-random-generator-seed): the same each time
  for (int round = 0; round < 20'000; ++round) {
    std::array<std::byte, sizeof(DoorWelcome)> bytes{};
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    const std::span all(bytes);
    CHECK_FALSE(parse_door_welcome(all).has_value());
    CHECK_FALSE(parse_door_hello(all.first<sizeof(DoorHello)>()).has_value());
    CHECK_FALSE(parse_door_farewell(all.first<sizeof(DoorFarewell)>()).has_value());
  }
}

}  // namespace orchid
