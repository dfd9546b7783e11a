#include "lane_client/policy.h"

#include <doctest/doctest.h>

namespace orchid::lane_client {
namespace {

using std::chrono::nanoseconds;

const LaneEnded lost{.outcome = Outcome::worker_lost};
const LaneEnded evicted{.outcome = Outcome::evicted};

Verdict judged(CallHistory history, const LostCall& call, const LaneEnded& ended) {
  return judge(history, call, ended);
}

}  // namespace

TEST_CASE("an estimate stands nonsense from a worker") {
  RunTimeEstimate estimate;
  for (int i = 0; i < 3; ++i) estimate.observe(nanoseconds::min());
  CHECK(estimate.mean() == nanoseconds(0));
  estimate.observe(nanoseconds::max());
  CHECK(estimate.mean() > nanoseconds(0));
}

TEST_CASE("a worker that says it has answered a call, and has not, has broken the rules") {
  const LaneEnded said{.outcome = Outcome::worker_lost, .answered = 7};
  LaneEnded ended = said;
  find_forgery(ended, 7);
  CHECK(ended.outcome == Outcome::function_crashed);
  CHECK(ended.request == 7);
  CHECK(ended.started);
  CHECK(ended.message.find("broke the rules of its sandbox") != std::string::npos);
  ended = said;
  find_forgery(ended, 6);  // it takes one after the other
  CHECK(ended.request == 6);
  CHECK(ended.outcome == Outcome::function_crashed);
  for (const std::uint64_t unanswered : {0, 8}) {  // it is true, or nobody can know
    ended = said;
    find_forgery(ended, unanswered);
    CHECK(ended.outcome == Outcome::worker_lost);
    CHECK_FALSE(ended.started);
  }
}

TEST_CASE("the answers to all calls up to the last that a worker has answered may be coming") {
  const LaneEnded ended{.outcome = Outcome::worker_lost, .answered = 5};
  CHECK(claims_answer(ended, 4));
  CHECK(claims_answer(ended, 5));
  CHECK_FALSE(claims_answer(ended, 6));
  CHECK_FALSE(claims_answer(ended, 0));
  CHECK_FALSE(claims_answer({.outcome = Outcome::worker_lost}, 4));
  CHECK_FALSE(claims_answer({.request = 5, .started = true, .answered = 5}, 4));
}

TEST_CASE(
    "a call that did not start runs again; else only if the platform ended it, and not for ever") {
  const LaneEnded crashed{.outcome = Outcome::function_crashed};
  CHECK(judged({.attempt = 9}, {.at_most_once = true}, lost).runs_again);
  CHECK(judged({.attempt = 2}, {.named = true}, lost).runs_again);
  CHECK(judged({.attempt = 9, .evictions = 8}, {.named = true}, evicted).runs_again);
  CHECK(judged({.attempt = 4, .evictions = 2}, {.named = true}, lost).runs_again);
  CHECK_FALSE(judged({.attempt = 4, .evictions = 1}, {.named = true}, lost).runs_again);
  CHECK_FALSE(judged({.attempt = 1}, {.named = true, .at_most_once = true}, evicted).runs_again);
  CHECK_FALSE(judged({.attempt = 3}, {.named = true}, lost).runs_again);
  CHECK_FALSE(judged({.attempt = 1}, {.named = true, .at_most_once = true}, lost).runs_again);
  CHECK_FALSE(judged({.attempt = 1}, {.named = true, .repeatable = false}, lost).runs_again);
  CHECK_FALSE(judged({.attempt = 1}, {.named = true}, crashed).runs_again);
  CHECK_FALSE(judged({.attempt = 1, .cancelled = true}, {}, lost).runs_again);
  CHECK_FALSE(judged({.attempt = 1}, {.deadline_passed = true}, lost).runs_again);
}

TEST_CASE("an attempt counts when it may have started, and an eviction is told apart") {
  CallHistory call{.attempt = 2};
  CHECK(judge(call, {}, lost).runs_again);
  CHECK(call.attempt == 1);
  CHECK(judge(call, {.named = true}, evicted).runs_again);
  CHECK(call.attempt == 1);
  CHECK(call.evictions == 1);
}

TEST_CASE(
    "what its caller wanted comes before the loss of a worker, not before the call's own end") {
  const LaneEnded killed{.outcome = Outcome::worker_lost, .message = "killed"};
  const LaneEnded crashed{.outcome = Outcome::function_crashed, .message = "signal 11"};
  CHECK(judged({.attempt = 1, .cancelled = true}, {.named = true}, killed).outcome ==
        Outcome::cancelled);
  CHECK(judged({.attempt = 1}, {.named = true, .deadline_passed = true}, killed).outcome ==
        Outcome::deadline_exceeded);
  const auto own = judged({.attempt = 1, .cancelled = true}, {.named = true}, crashed);
  CHECK(own.outcome == Outcome::function_crashed);
  CHECK(own.message == "signal 11");
  CHECK(judged({.attempt = 3}, {.named = true}, killed).message == "killed");
  CHECK_FALSE(judged({.attempt = 3}, {.named = true}, lost).message.empty());
}

TEST_CASE("between hosts a call that may run at most once can have been answered unheard") {
  const LostCall once{.at_most_once = true, .answer_may_be_lost = true};
  const auto verdict = judged({.attempt = 1}, once, {.outcome = Outcome::function_crashed});
  CHECK_FALSE(verdict.runs_again);
  CHECK(verdict.outcome == Outcome::worker_lost);
  CHECK(verdict.message.find("its answer with it") != std::string_view::npos);
  CHECK(judged({.attempt = 1}, {.answer_may_be_lost = true}, lost).runs_again);
}

TEST_CASE("a worker without the call's code is sent it again, three times") {
  CallHistory call;
  for (unsigned i = 0; i < most_code_losses; ++i) {
    ++call.attempt;
    CHECK(runs_again_without_code(call));
    CHECK(call.attempt == 0);
  }
  ++call.attempt;
  CHECK_FALSE(runs_again_without_code(call));
}

TEST_CASE("every outcome but ok says something to people") {
  for (std::uint8_t i = 1; i < outcome_count; ++i)
    CHECK_FALSE(cause_of(static_cast<Outcome>(i)).empty());
}

}  // namespace orchid::lane_client
