#include "invocations/sync_calls.h"

#include "sync_fixture.h"

namespace orchid::gateway {
namespace {

TEST_CASE_FIXTURE(SyncFixture, "a call that ends is answered and remembered") {
  const auto number = start();
  const std::string id = format_invocation_id(number);
  CHECK(view(number)->record.state == StoredState::started);
  CallResult result = ok_result("out");
  result.log = "said something";
  runner.end(id, std::move(result));
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].id == id);
  CHECK(as_text(answers[0].result.output.bytes) == "out");
  CHECK(view(number)->record.outcome == Outcome::ok);
  CHECK_FALSE(view(number, 2).has_value());
  CHECK(calls.log(1, number)->text == "said something");
  CHECK(calls.in_flight() == 0);
}

TEST_CASE_FIXTURE(SyncFixture, "calls are counted by how they ended, and how long they took") {
  const auto number = start();
  CHECK(counts("orchid_invocations_in_flight 1"));
  CHECK(counts(R"(orchid_invocations_total{outcome="ok"} 0)"));
  clock.advance(std::chrono::milliseconds(3));
  runner.end(format_invocation_id(number), ok_result(""));
  CHECK(counts("orchid_invocations_in_flight 0"));
  CHECK(counts(R"(orchid_invocations_total{outcome="ok"} 1)"));
  CHECK(counts(R"(orchid_invocation_duration_seconds_bucket{le="0.0025"} 0)"));
  CHECK(counts(R"(orchid_invocation_duration_seconds_bucket{le="0.005"} 1)"));
  CHECK(counts("orchid_invocation_duration_seconds_count 1"));
}

TEST_CASE_FIXTURE(SyncFixture, "a call whose caller went away is not under way for ever") {
  const auto number = start();
  calls.caller_gone(number);
  CHECK(counts("orchid_invocations_in_flight 1"));
  runner.end(format_invocation_id(number), failed_result(Outcome::cancelled));
  CHECK(counts("orchid_invocations_in_flight 0"));
  CHECK(counts(R"(orchid_invocations_total{outcome="cancelled"} 1)"));
}

TEST_CASE_FIXTURE(SyncFixture,
                  "a call that outlives its wait goes on as an asynchronous invocation") {
  const auto number = start(std::chrono::seconds(1));
  const std::string id = format_invocation_id(number);
  calls.sweep();
  CHECK(answers.empty());
  clock.advance(std::chrono::seconds(1));
  calls.sweep();
  run_until([&] { return answers.size() == 1; });
  CHECK(answers[0].outlived);
  CHECK(answers[0].id == id);
  CHECK_FALSE(view(number).has_value());
  CHECK(counts("orchid_invocations_in_flight 0"));
  runner.end(id, ok_result("late"));
  std::optional<Outcome> outcome;
  run_until([&] { return async.running_count() == 0; });
  async.wait(1, id, {}, [&](Result<std::optional<InvocationView>> found) {
    outcome = (*found)->record.outcome;
  });
  run_until([&] { return outcome.has_value(); });
  CHECK(outcome == Outcome::ok);
}

TEST_CASE_FIXTURE(SyncFixture, "a caller that goes away stops its call, and gets no answer") {
  const auto number = start();
  calls.caller_gone(number);
  CHECK(runner.cancelled.size() == 1);
  runner.end(format_invocation_id(number), failed_result(Outcome::cancelled));
  CHECK(answers.empty());
  CHECK(view(number)->record.outcome == Outcome::cancelled);
}

TEST_CASE_FIXTURE(SyncFixture, "too many calls at a time are refused") {
  start();
  start();
  const auto third = calls.start({.version = version}, [](SyncAnswer) {});
  REQUIRE_FALSE(third.has_value());
  CHECK(third.error().code == ErrorCode::no_capacity);
}

TEST_CASE_FIXTURE(SyncFixture, "only the last calls are remembered") {
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 6; ++i) {
    numbers.push_back(start());
    runner.end(format_invocation_id(numbers.back()), ok_result(""));
  }
  CHECK_FALSE(view(numbers[1]).has_value());
  CHECK(view(numbers[2]).has_value());
  const auto list = calls.list(1, 10);
  REQUIRE(list.size() == 4);
  CHECK(list[0].record.id == format_invocation_id(numbers[5]));
}

TEST_CASE_FIXTURE(SyncFixture, "who waits for a running call hears of its end") {
  const auto number = start();
  std::optional<Outcome> outcome;
  calls.wait(
      1, number, {.until = clock.now() + std::chrono::seconds(5)},
      [&](Result<std::optional<InvocationView>> found) { outcome = (*found)->record.outcome; });
  CHECK_FALSE(outcome.has_value());
  runner.end(format_invocation_id(number), failed_result(Outcome::function_error));
  CHECK(outcome == Outcome::function_error);
}

TEST_CASE("an id says who made it, and reads back") {
  InvocationIds ids(3);
  const auto number = ids.next();
  const std::string text = format_invocation_id(number);
  CHECK(text.size() == 18);
  CHECK(parse_invocation_id(text) == number);
  CHECK(home_of(number) == 3);
  CHECK(ids.next() != number);
  for (const char* wrong :
       {"", "i-", "i-0123456789ABCDEF", "j-0123456789abcdef", "i-0123456789abcde"})
    CHECK_FALSE(parse_invocation_id(wrong).has_value());
}

}  // namespace
}  // namespace orchid::gateway
