#include "lane_client/conversation.h"

#include <doctest/doctest.h>

#include "lane_client/policy.h"

namespace orchid::lane_client {
namespace {

using std::chrono::milliseconds;

constexpr MonotonicTime start{std::chrono::hours(1)};
const Failure gone{ErrorCode::unreachable, "the worker has gone"};
const Failure nonsense{ErrorCode::bad_request, "nonsense"};

Conversation ready_at_once() { return Conversation(start + claim_within); }

}  // namespace

TEST_CASE("an executor that does not answer a claim is given up when that is due, or never") {
  Conversation bounded(start + claim_within);
  CHECK(bounded.expire(start + claim_within - milliseconds(1)) == Step::none);
  CHECK(bounded.expire(start + claim_within) == Step::end);
  CHECK(bounded.trouble() == "the executor does not answer a claim");
  Conversation patient;
  CHECK_FALSE(patient.is_timed());
  CHECK(patient.expire(start + std::chrono::hours(24)) == Step::none);
}

TEST_CASE("a lane that breaks waits for the executor's word, then asks for another worker") {
  Conversation lane = ready_at_once();
  lane.opened();
  CHECK(lane.is_ready());
  CHECK_FALSE(lane.is_timed());
  CHECK(lane.broken(gone, start) == Step::none);
  CHECK(lane.phase() == LanePhase::losing);
  CHECK(lane.broken(gone, start) == Step::none);
  CHECK(lane.due() == start + explain_within);
  CHECK(lane.expire(start + explain_within) == Step::replace);
  CHECK(lane.phase() == LanePhase::replacing);
  CHECK(lane.trouble() == gone.message);
  const MonotonicTime asked = start + explain_within;
  CHECK(lane.expire(asked) == Step::none);
  CHECK(lane.expire(asked + replace_within) == Step::end);
  CHECK(lane.trouble().find(gone.message) != std::string::npos);
}

TEST_CASE("a worker that talks nonsense is replaced at once, and only once") {
  Conversation lane = ready_at_once();
  lane.opened();
  CHECK(lane.broken(nonsense, start) == Step::replace);
  CHECK(lane.broken(nonsense, start) == Step::none);
  CHECK(lane.give_up("again", start) == Step::none);
  lane.announced();
  CHECK_FALSE(lane.is_timed());
  lane.opened();
  CHECK(lane.is_ready());
}

TEST_CASE("an ended worker's replacement has its pause, and as long as any after that") {
  Conversation lane = ready_at_once();
  lane.opened();
  lane.ended(start, milliseconds(700));
  CHECK(lane.phase() == LanePhase::replacing);
  CHECK(lane.due() == start + milliseconds(700) + replace_within);
  CHECK(lane.expire(lane.due()) == Step::end);
}

TEST_CASE("a worker out of reach is asked about once, and after three the lane ends") {
  Conversation lane;
  lane.announced();
  CHECK(lane.opening_failed(gone, start) == Step::none);
  CHECK(lane.phase() == LanePhase::claiming);
  CHECK(lane.expire(start + explain_within) == Step::ask);
  CHECK(lane.expire(start + explain_within) == Step::none);
  lane.announced();
  CHECK(lane.opening_failed(gone, start) == Step::none);
  lane.ended(start, milliseconds(0));  // it had died: the next one comes
  CHECK(lane.phase() == LanePhase::claiming);
  CHECK(lane.due() == start + replace_within);
  lane.announced();
  CHECK(lane.opening_failed(gone, start) == Step::end);
}

TEST_CASE("three failures count one after the other, and what can never work ends at once") {
  Conversation lane;
  for (int round = 0; round < 3; ++round) {
    CHECK(lane.opening_failed(gone, start) == Step::none);
    CHECK(lane.opening_failed(gone, start) == Step::none);
    lane.opened();
  }
  CHECK(lane.opening_failed({ErrorCode::unsupported, "no UCX here"}, start) == Step::end);
}

TEST_CASE("the dead wait for nothing") {
  Conversation lane(start);
  lane.die();
  CHECK(lane.phase() == LanePhase::dead);
  CHECK(lane.expire(MonotonicTime::max() - milliseconds(1)) == Step::none);
}

}  // namespace orchid::lane_client
