#include "ucx/crew_greeting.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "ucx_lane_fixture.h"

namespace orchid::transport {

using namespace tests;

TEST_CASE("a member's hello shows who has the key, and not the key") {
  const ConnectionKey key = random_key();
  const Hello hello = make_crew_hello(key).value();
  CHECK(is_crew_hello(hello, key));
  CHECK_FALSE(is_crew_hello(hello, random_key()));
  CHECK(std::ranges::search(bytes_of(hello), key).empty());
  CHECK_FALSE(same(bytes_of(hello), bytes_of(make_crew_hello(key).value())));
  for (std::size_t i = 0; i < sizeof(hello); ++i) {
    Hello changed = hello;
    writable_bytes_of(changed)[i] ^= std::byte{1};
    CHECK_FALSE(is_crew_hello(changed, key));
  }
}

TEST_CASE("each end of a pair proves the key for this one conversation") {
  const ConnectionKey key = random_key();
  const Hello hello = make_crew_hello(key).value();
  const CrewGreeting greeting{key, hello};
  const CrewWelcome welcome = greeting.welcome().value();
  const CrewProof thanks = greeting.thanks(welcome).value();
  CHECK(greeting.check(welcome).has_value());
  CHECK(greeting.check(welcome, thanks).has_value());
  CHECK_FALSE(same(welcome.proof, thanks));  // none is the other one's answer

  const ConnectionKey other_key = random_key();
  const Hello other_hello = make_crew_hello(key).value();
  const CrewWelcome other_welcome = greeting.welcome().value();
  CHECK_FALSE(same(bytes_of(welcome), bytes_of(other_welcome)));
  const auto refused = CrewGreeting{other_key, hello}.check(welcome);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::denied);
  CHECK_FALSE(CrewGreeting{key, other_hello}.check(welcome).has_value());
  CHECK_FALSE(CrewGreeting{other_key, hello}.check(welcome, thanks).has_value());
  CHECK_FALSE(CrewGreeting{key, other_hello}.check(welcome, thanks).has_value());
  CHECK_FALSE(greeting.check(other_welcome, thanks).has_value());
}

}  // namespace orchid::transport
