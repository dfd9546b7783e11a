#include "grant/grant.h"

#include <doctest/doctest.h>

namespace orchid::executor {

using namespace std::chrono_literals;

TEST_CASE("a drain is a tenth of the grant, within bounds") {
  CHECK(drain_time(100s) == 10s);
  CHECK(drain_time(10min) == 30s);
  CHECK(drain_time(10s) == 2s);
  CHECK(drain_time(2s) == 1s);
  CHECK(drain_time(0s) == 0s);
}

TEST_CASE("a grant whose end is known drains before it, once, and is over then") {
  const MonotonicTime start{1h};
  Grant grant({.terms = {.source = GrantSource::pilot, .job = 7, .ends_in = 100s},
               .gateway_grace = std::nullopt},
              start);
  CHECK(grant.terms(start + 40s).ends_in == 60s);
  CHECK_FALSE(grant.terms(start + 40s).draining);
  CHECK_FALSE(grant.begins_to_drain(start + 89s));
  CHECK(grant.begins_to_drain(start + 90s));
  CHECK_FALSE(grant.begins_to_drain(start + 91s));
  CHECK(grant.terms(start + 91s).draining);
  CHECK_FALSE(grant.over(start + 99s).has_value());
  CHECK(grant.over(start + 100s).has_value());
  CHECK(grant.terms(start + 200s).ends_in == 0s);
}

TEST_CASE("a grant waits for a gateway for so long, from the start and from each loss") {
  const MonotonicTime start{1h};
  Grant grant({.terms = {.source = GrantSource::pilot}, .gateway_grace = 10s}, start);
  CHECK_FALSE(grant.over(start + 9s).has_value());
  CHECK(grant.over(start + 10s).has_value());
  grant.gateway_answers();
  CHECK_FALSE(grant.over(start + 1h).has_value());
  grant.gateway_lost(start + 2h);
  grant.gateway_lost(start + 2h + 5s);  // it had not come back
  CHECK_FALSE(grant.over(start + 2h + 9s).has_value());
  CHECK(grant.over(start + 2h + 10s).has_value());
}

TEST_CASE("a grant of one's own has no end and waits for ever") {
  const MonotonicTime start{1h};
  Grant grant({}, start);
  CHECK_FALSE(grant.over(start + 10'000h).has_value());
  CHECK_FALSE(grant.begins_to_drain(start + 10'000h));
  CHECK_FALSE(grant.terms(start).ends_in.has_value());
}

}  // namespace orchid::executor
