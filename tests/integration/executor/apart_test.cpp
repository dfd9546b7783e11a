// Places of a gateway: a worker for each module, of which one runs.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "executor_fixture.h"

namespace orchid::tests {
namespace {

struct PlaceFixture {
  PlaceFixture() : PlaceFixture(512_MiB) {}
  explicit PlaceFixture(ByteCount memory)
      : executor({.programs = PROGRAMS,
                  .worker_memory = memory,
                  .remote = lane_under_test() != LaneKind::local,
                  .trusted_fabric = is_fabric_trusted()}),
        place(executor.open_lease()) {}

  WorkerClient& claim() {
    workers.push_back(std::make_unique<WorkerClient>(executor, lane_under_test(), place));
    return *workers.back();
  }

  LocalExecutor executor;
  LocalExecutor::Lease place;
  std::vector<std::unique_ptr<WorkerClient>> workers;
};

}  // namespace

TEST_CASE_FIXTURE(PlaceFixture,
                  "two modules have two processes of one lease, and keep their state") {
  WorkerClient& first = claim();
  WorkerClient& second = claim();
  CHECK(first.pid() != second.pid());
  const LaneSlot one = first.load(test_function("counts_calls"));
  const LaneSlot other = second.load(test_function("reports_pid"));
  for (int i = 1; i <= 3; ++i) {
    CHECK(first.call(one, "").output == std::to_string(i));
    const auto reply = second.call(other, "");
    CHECK(reply.outcome == Outcome::ok);
    if (lane_under_test() == LaneKind::local) CHECK(reply.output == std::to_string(second.pid()));
  }
  CHECK(eventually([&] { return executor.sleepers() == 2; }));
}

TEST_CASE_FIXTURE(PlaceFixture, "a worker of one module takes no other module") {
  WorkerClient& worker = claim();
  const LaneSlot slot = worker.load(test_function("counts_calls"));
  const std::string other = "sha256:" + std::string(64, 'a');
  worker.send(LaneAnnounce{other});
  const LaneMessage answer = worker.receive();
  const auto* rejected = std::get_if<LaneRejected>(&answer);
  REQUIRE(rejected != nullptr);
  CHECK(rejected->digest == other);
  CHECK(rejected->code == ErrorCode::conflict);
  CHECK(worker.call(slot, "").output == "1");
}

TEST_CASE_FIXTURE(PlaceFixture, "the crash of one worker of a place leaves the others' state") {
  WorkerClient& sound = claim();
  WorkerClient& crashing = claim();
  const LaneSlot slot = sound.load(test_function("counts_calls"));
  CHECK(sound.call(slot, "").output == "1");
  const pid_t before = crashing.pid();
  CHECK(crashing.call(crashing.load(test_function("segfaults")), "").outcome ==
        Outcome::function_crashed);
  CHECK(crashing.pid() != before);
  CHECK(sound.call(slot, "").output == "2");
}

TEST_CASE_FIXTURE(PlaceFixture, "a place has so many workers at most") {
  if (lane_under_test() != LaneKind::local) return;  // it is the lease's bound, on whatever lane
  constexpr auto most = executor::LeaseTable::claims_per_place;
  for (std::uint32_t i = 0; i < most; ++i) claim();
  CHECK_THROWS_WITH_AS(claim(), doctest::Contains("all workers of the lease are claimed"),
                       std::runtime_error);
  workers.pop_back();
  CHECK(eventually([&] {
    try {
      claim();
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
}

TEST_CASE_FIXTURE(PlaceFixture, "eviction and the end of the lease reach each worker of a place") {
  for (int i = 0; i < 2; ++i) claim();
  executor.evict(place.id);
  for (const auto& worker : workers) {
    const LaneMessage message = worker->receive();
    const auto* ended = std::get_if<LaneEnded>(&message);
    REQUIRE(ended != nullptr);
    CHECK(ended->outcome == Outcome::evicted);
    CHECK_FALSE(ended->started);
  }
  workers.clear();
  place = executor.open_lease();
  for (int i = 0; i < 2; ++i) claim();
  executor.close(place.id);
  for (const auto& worker : workers) {
    const LaneMessage message = worker->receive();
    REQUIRE(std::holds_alternative<LaneRefused>(message));
    CHECK(std::get<LaneRefused>(message).code == ErrorCode::lease_ended);
  }
}

TEST_CASE_FIXTURE(PlaceFixture, "a deadline and a cancellation end the call of their own worker") {
  WorkerClient& sleeping = claim();
  WorkerClient& running = claim();
  const LaneSlot kept = sleeping.load(test_function("counts_calls"));
  CHECK(sleeping.call(kept, "").output == "1");
  const LaneSlot loops = running.load(test_function("loops"));
  CHECK(running.call(loops, "", std::chrono::milliseconds(100)).outcome ==
        Outcome::deadline_exceeded);
  const LaneSlot again = running.load(test_function("loops"));
  running.cancel(running.start(again, ""));
  CHECK(running.finish().outcome == Outcome::cancelled);
  CHECK(sleeping.call(kept, "").output == "2");
}

TEST_CASE_FIXTURE(PlaceFixture, "a worker that computes while it has nothing to run is ended") {
  WorkerClient& sound = claim();
  WorkerClient& pretending = claim();
  const LaneSlot slot = sound.load(test_function("counts_calls"));
  CHECK(sound.call(slot, "").output == "1");
  const auto reply = pretending.call(pretending.load(test_function("pretends_to_sleep")), "");
  CHECK(reply.outcome == Outcome::function_crashed);
  CHECK(contains(reply.message, "processor time"));
  CHECK(executor.counter("workers_restless") == 1);
  CHECK(sound.call(slot, "").output == "2");
}

TEST_CASE("all workers of a place together keep to its memory: who ran longest ago goes") {
  PlaceFixture site(128_MiB);
  WorkerClient& first = site.claim();
  WorkerClient& second = site.claim();
  REQUIRE(first.call(first.load(test_function("holds_memory")), "90 0").outcome == Outcome::ok);
  REQUIRE(eventually([&] { return site.executor.sleepers() == 2; }));
  CHECK(second.call(second.load(test_function("fills_memory")), "20 0").outcome == Outcome::ok);
  CHECK(second.call(second.load(test_function("fills_memory")), "90 300").outcome == Outcome::ok);
  const LaneMessage message = first.receive();
  const auto* ended = std::get_if<LaneEnded>(&message);
  REQUIRE(ended != nullptr);
  CHECK(ended->outcome == Outcome::worker_lost);
  CHECK(contains(ended->message, "gave way"));
  CHECK(site.executor.counter("workers_gave_way") == 1);
}

}  // namespace orchid::tests
