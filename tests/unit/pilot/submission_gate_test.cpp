#include "pilot/submission_gate.h"

#include <doctest/doctest.h>

#include "scratch_folder.h"

namespace orchid::pilot {

TEST_CASE("a pause begins when no submission is under way, and keeps others from beginning") {
  using namespace std::chrono_literals;
  const tests::Scratch scratch;
  const SubmissionGate gate(scratch.path());
  const SubmissionGate::SystemTime now{std::chrono::seconds(1'000)};
  {
    const auto submission = gate.enter_unless_paused(now);
    REQUIRE((submission && *submission));
    CHECK(gate.pause(now, now + 10s, 0ms).error().code == ErrorCode::timed_out);
  }
  REQUIRE(gate.pause(now, now + 10s, 0ms).has_value());
  CHECK_FALSE(gate.enter_unless_paused(now + 9s).value().has_value());
  CHECK(gate.enter_unless_paused(now + 10s).value().has_value());
  // Who started before the pause keeps it, who starts after it does not.
  CHECK_FALSE(
      SubmissionGate(scratch.path(), now - 1s).enter_unless_paused(now).value().has_value());
  CHECK(SubmissionGate(scratch.path(), now + 1s).enter_unless_paused(now).value().has_value());
  CHECK_FALSE(SubmissionGate(scratch / "nothing").enter_unless_paused(now).has_value());
}

}  // namespace orchid::pilot
