#include "pilot/removal.h"

#include <doctest/doctest.h>

#include "pilot/submission_gate.h"
#include "scratch_folder.h"
#include "slurm_stage.h"

namespace orchid::pilot {
namespace {

/// A Slurm with two pilots of the gateway, which go when they are cancelled.
struct TwoPilots {
  TwoPilots() {
    stage.put("queue",
              "11|RUNNING|idle|1|4|0:00|1:00:00|n1\n12|PENDING|idle|1|4|0:00|1:00:00|(Priority)\n");
    stage.play("squeue", "cat queue");
    stage.play("scancel", "echo \"$@\" >> cancelled; : > queue");
  }
  [[nodiscard]] Result<std::set<std::uint64_t>> remove(const Removal& removal) const {
    return remove_pilots(stage.commands(), owner, removal);
  }
  SlurmStage stage;
  tests::Scratch scratch;
  PilotOwner owner{.gateway = {}, .state = scratch.path(), .mark = "0123456789ab"};
};

}  // namespace

TEST_CASE("all pilots of a gateway end, and none is submitted by demand for a while") {
  const TwoPilots pilots;
  const auto removed = pilots.remove({.all = true});
  REQUIRE_MESSAGE(removed.has_value(), removed.error().message);
  CHECK(*removed == std::set<std::uint64_t>{11, 12});
  const SubmissionGate gate(pilots.scratch.path());
  CHECK_FALSE(gate.enter_unless_paused(std::chrono::system_clock::now()).value().has_value());
}

TEST_CASE("a job that is no pilot of the gateway is left alone, and so are all others then") {
  const TwoPilots pilots;
  const auto removed = pilots.remove({.jobs = {11, 99}});
  REQUIRE_FALSE(removed.has_value());
  CHECK(removed.error().code == ErrorCode::not_found);
  CHECK(pilots.stage.text_of("cancelled").empty());
}

TEST_CASE("pilots that stay in the queue are said when the time is over") {
  const TwoPilots pilots;
  pilots.stage.play("scancel", "true");
  const auto removed = pilots.remove({.jobs = {11}, .within = std::chrono::seconds(0)});
  REQUIRE_FALSE(removed.has_value());
  CHECK(removed.error().code == ErrorCode::timed_out);
}

TEST_CASE("a gateway without a mark has no pilots") {
  TwoPilots pilots;
  pilots.owner.mark.clear();
  CHECK(pilots.remove({.all = true}).value().empty());
}

}  // namespace orchid::pilot
