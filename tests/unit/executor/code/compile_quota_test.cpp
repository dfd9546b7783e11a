// How much compile time functions have, and when they have it again.
#include "code/compile_quota.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

namespace orchid::executor {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

}  // namespace

TEST_CASE("a tenant that has used its compile time waits, and others do not") {
  CompileQuota quota(seconds(60));
  const MonotonicTime start{};
  CHECK_FALSE(quota.refusal(1, start).has_value());
  quota.spend(1, seconds(59), start);
  CHECK_FALSE(quota.refusal(1, start).has_value());
  quota.spend(1, seconds(31), start);  // it was not known before
  const auto refused = quota.refusal(1, start);
  REQUIRE(refused.has_value());
  CHECK(refused->code == ErrorCode::quota);
  CHECK(refused->message.find("took 90.0 s to compile here") != std::string::npos);
  CHECK(refused->message.find("60.0 s in an hour are allowed") != std::string::npos);
  // A second comes back in a minute; it is told to wait until a tenth is free.
  CHECK(refused->message.find("try again in 2160 s") != std::string::npos);
  CHECK_FALSE(quota.refusal(2, start).has_value());
}

TEST_CASE("who has used its compile time is given what is known, so many times a second") {
  CompileQuota quota(seconds(60));
  const MonotonicTime start{};
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(quota.refusal_to_look(1, start).has_value());
  quota.spend(1, seconds(70), start);
  for (int i = 0; i < CompileQuota::looks_in_a_second; ++i)
    CHECK_FALSE(quota.refusal_to_look(1, start).has_value());
  const auto refused = quota.refusal_to_look(1, start);
  REQUIRE(refused.has_value());
  CHECK(refused->code == ErrorCode::quota);
  CHECK_FALSE(quota.refusal_to_look(2, start).has_value());
  const MonotonicTime later = start + std::chrono::milliseconds(25);
  for (const bool refuses : {false, false, true})
    CHECK(quota.refusal_to_look(1, later).has_value() == refuses);
  // Nothing is saved up.
  for (int i = 0; i < CompileQuota::looks_in_a_second; ++i)
    CHECK_FALSE(quota.refusal_to_look(1, start + minutes(1)).has_value());
  CHECK(quota.refusal_to_look(1, start + minutes(1)).has_value());
}

TEST_CASE("compile time comes back evenly") {
  CompileQuota quota(seconds(60));
  const MonotonicTime start{};
  quota.spend(1, seconds(90), start);
  CHECK(quota.refusal(1, start + minutes(29)).has_value());
  CHECK_FALSE(quota.refusal(1, start + minutes(31)).has_value());
  quota.spend(1, seconds(2), start + minutes(31));
  CHECK(quota.refusal(1, start + minutes(31)).has_value());
  CHECK_FALSE(quota.refusal(1, start + minutes(33)).has_value());
  // Nothing is saved up.
  CHECK_FALSE(quota.refusal(1, start + minutes(500)).has_value());
  quota.spend(1, seconds(60), start + minutes(500));
  CHECK(quota.refusal(1, start + minutes(500)).has_value());
}

TEST_CASE("what is being compiled counts before it is known how long that takes") {
  CompileQuota quota(3 * CompileQuota::expected);
  const MonotonicTime start{};
  auto first = quota.reserve(1, start);
  const auto second = quota.reserve(1, start);
  CHECK_FALSE(quota.refusal(1, start).has_value());
  const auto third = quota.reserve(1, start);
  const auto refused = quota.refusal(1, start);
  REQUIRE(refused.has_value());
  CHECK(refused->code == ErrorCode::quota);
  CHECK(refused->message.find("the 3 that are being compiled may take the rest") !=
        std::string::npos);
  CHECK_FALSE(quota.refusal(2, start).has_value());
  const auto copy = first;
  first.reset();
  CHECK(quota.refusal(1, start).has_value());
}

TEST_CASE("who compiles for long is not forgotten, and what has come counts as what it took") {
  CompileQuota quota(2 * CompileQuota::expected);
  const MonotonicTime start{};
  auto first = quota.reserve(1, start);
  auto second = quota.reserve(1, start);
  CHECK(quota.refusal(1, start + minutes(500)).has_value());
  quota.spend(1, CompileQuota::expected, start + minutes(500));
  CHECK(quota.refusal(1, start + minutes(500)).has_value());
  first.reset();
  CHECK(quota.refusal(1, start + minutes(500)).has_value());
  second.reset();
  CHECK_FALSE(quota.refusal(1, start + minutes(500)).has_value());
  CHECK_FALSE(quota.refusal(1, start + minutes(600)).has_value());
}

TEST_CASE("a reservation may outlive the book that has given it") {
  std::optional<CompileQuota> quota(seconds(1));
  const auto reserved = quota->reserve(1, MonotonicTime{});
  quota.reset();
  CHECK(reserved != nullptr);
}

}  // namespace orchid::executor
