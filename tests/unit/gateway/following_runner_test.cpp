#include "invocations/following_runner.h"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/files.h"
#include "gateway_fakes.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::shared_ptr<const CallData> data_at(const std::string& executor) {
  return std::make_shared<const CallData>(CallData{.ids = {DataId{}},
                                                   .labels = {"climate@1"},
                                                   .at = placement::GrantId(executor),
                                                   .host = executor});
}

CallResult given_back() {
  CallResult result = failed_result(Outcome::no_capacity);
  result.refused = ErrorCode::data_elsewhere;
  return result;
}

/// Where data is is known when the test says so.
struct FollowingFixture {
  FollowingFixture() {
    following.set_find(
        [this](uid_t tenant, std::string names, placement::WorkerRequest worker, auto done) {
          CHECK(tenant == 7);
          CHECK(names == to_string(data_at("n1")));
          CHECK(worker.cluster == "blue");
          CHECK(worker.data_at.value().empty());
          answers.push_back(std::move(done));
        });
  }
  void start(const std::string& invocation, bool is_asynchronous = false) {
    following.start({.invocation = invocation,
                     .tenant = 7,
                     .version = version,
                     .input = ok_result("input").output,
                     .accepted = clock.now(),
                     .deadline = clock.now() + seconds(10),
                     .is_asynchronous = is_asynchronous,
                     .cluster = "blue",
                     .data = data_at("n1")},
                    [this](CallResult result) {
                      if (const auto first = std::exchange(on_end, nullptr)) first();
                      results.push_back(std::move(result));
                    });
  }
  /// The newest question.
  void answer(CallDataFinder::Found data) { answers.back()(std::move(data)); }

  ManualClock clock;
  FakeRunner runner;
  FollowingRunner following{runner, clock};
  std::shared_ptr<const FunctionVersion> version = make_version("f", 'a');
  std::vector<std::function<void(CallDataFinder::Found)>> answers;
  std::vector<CallResult> results;
  std::function<void()> on_end;  // of the first call
};

TEST_CASE_FIXTURE(FollowingFixture, "a call that is given back goes to where its data is brought") {
  start("i-1");
  clock.advance(milliseconds(200));
  CallResult evicted = given_back();
  evicted.attempt = 1;
  runner.end("i-1", std::move(evicted));
  CHECK(following.waiting() == 1);
  REQUIRE(answers.size() == 1);
  CallData coming = *data_at("n2");
  coming.waits_for = "climate@1";
  answer(std::make_shared<const CallData>(coming));
  CHECK_FALSE(runner.running.contains("i-1"));
  clock.advance(milliseconds(300));
  following.sweep();
  REQUIRE(answers.size() == 2);
  answer(data_at("n2"));
  CHECK(following.waiting() == 0);
  REQUIRE(runner.running.contains("i-1"));
  const Call& again = runner.running["i-1"].call;
  CHECK(again.data->host == "n2");
  CHECK(as_text(again.input.bytes) == "input");
  CHECK(again.accepted == clock.now());
  CHECK(results.empty());
  CallResult sum = ok_result("sum");
  sum.attempt = 1;
  runner.end("i-1", std::move(sum));
  REQUIRE(results.size() == 1);
  CHECK(as_text(results[0].output.bytes) == "sum");
  CHECK(results[0].timings.transfer == milliseconds(500));
  CHECK(results[0].attempt == 2);
}

TEST_CASE_FIXTURE(FollowingFixture, "one question is asked for all calls with the same data") {
  for (const char* invocation : {"i-1", "i-2", "i-3"}) start(invocation);
  for (const char* invocation : {"i-1", "i-2", "i-3"}) runner.end(invocation, given_back());
  following.sweep();
  CHECK(answers.size() == 1);
  answer(data_at("n2"));
  CHECK(runner.running.size() == 3);
}

TEST_CASE_FIXTURE(FollowingFixture, "where it was given back it goes again only after a while") {
  start("i-1");
  runner.end("i-1", given_back());
  answer(data_at("n1"));  // as it was a moment ago
  CHECK_FALSE(runner.running.contains("i-1"));
  following.sweep();
  answer(data_at("n1"));
  CHECK(runner.running.contains("i-1"));
}

TEST_CASE_FIXTURE(FollowingFixture, "it waits until its deadline, and is told for what") {
  start("i-1");
  runner.end("i-1", given_back());
  answer(fail(ErrorCode::unreachable, "n1 has no cores"));
  for (int i = 0; i < 200 && results.empty(); ++i) {
    clock.advance(milliseconds(100));
    following.sweep();
    if (results.empty()) answer(fail(ErrorCode::unreachable, "n1 has no cores"));
  }
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::deadline_exceeded);
  CHECK(results[0].message == "the call has not begun by its deadline: n1 has no cores");
  CHECK(following.waiting() == 0);
}

TEST_CASE_FIXTURE(FollowingFixture, "one that is given back at its deadline has ended") {
  start("i-1");
  clock.advance(seconds(10));
  runner.end("i-1", given_back());
  CHECK(answers.empty());
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::deadline_exceeded);
}

TEST_CASE_FIXTURE(FollowingFixture, "whoever hears of an end may cancel the next one") {
  for (const char* invocation : {"i-1", "i-2", "i-3"}) start(invocation);
  on_end = [this] { following.cancel("i-2"); };
  for (const char* invocation : {"i-1", "i-2", "i-3"}) runner.end(invocation, given_back());
  answer(fail(ErrorCode::data_lost, "it was on n1"));
  REQUIRE(results.size() == 3);
  CHECK(results[0].outcome == Outcome::cancelled);  // told from within the first one's end
  CHECK(results[1].outcome == Outcome::bad_request);
  CHECK(results[2].outcome == Outcome::bad_request);
  CHECK(following.waiting() == 0);
}

TEST_CASE_FIXTURE(FollowingFixture, "of calls that wait together each may end by itself") {
  start("i-1");
  clock.advance(seconds(5));
  for (const char* invocation : {"i-2", "i-3"}) start(invocation);
  for (const char* invocation : {"i-1", "i-2", "i-3"}) runner.end(invocation, given_back());
  following.cancel("i-2");
  clock.advance(seconds(5));
  following.sweep();
  REQUIRE(results.size() == 2);
  CHECK(results[0].outcome == Outcome::cancelled);
  CHECK(results[1].outcome == Outcome::deadline_exceeded);
  answer(data_at("n2"));
  CHECK(runner.running.size() == 1);
  CHECK(runner.running.contains("i-3"));
}

TEST_CASE_FIXTURE(FollowingFixture, "data that is lost ends its calls") {
  start("i-1");
  runner.end("i-1", given_back());
  answer(fail(ErrorCode::data_lost, "it was on n1"));
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::bad_request);
  CHECK(results[0].refused == ErrorCode::data_lost);
  CHECK(results[0].message == "it was on n1");
}

TEST_CASE_FIXTURE(FollowingFixture, "a call that waits for its data can be cancelled") {
  start("i-1");
  runner.end("i-1", given_back());
  SUBCASE("by its caller") { following.cancel("i-1"); }
  SUBCASE("by a gateway that stops") { following.stop(); }
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::cancelled);
  answer(data_at("n2"));  // too late
  CHECK_FALSE(runner.running.contains("i-1"));
  CHECK(results.size() == 1);
}

TEST_CASE_FIXTURE(FollowingFixture, "all other ends are the call's own") {
  start("i-1");
  following.cancel("i-1");
  CHECK(runner.cancelled == std::vector<std::string>{"i-1"});
  runner.end("i-1", failed_result(Outcome::no_capacity));
  start("i-2", true);
  runner.end("i-2", given_back());  // its queue takes it back
  CHECK(answers.empty());
  REQUIRE(results.size() == 2);
  CHECK(results[0].outcome == Outcome::no_capacity);
  CHECK(results[1].refused == ErrorCode::data_elsewhere);
}

}  // namespace
}  // namespace orchid::gateway
