// Crews that may have fewer members than were asked for.
#include <future>

#include "crew_fixture.h"

namespace orchid::tests {
namespace {

struct SmallCrewFixture : CrewFixture {
  [[nodiscard]] Crew take_of(unsigned room, const CrewOptions& options) {
    auto owned = std::make_unique<ExecutorCrews>(executor);
    source = owned.get();
    source->room = room;
    return take_crew(std::move(owned), options);
  }
};

}  // namespace

TEST_CASE_FIXTURE(SmallCrewFixture, "a crew that may be smaller stands with what it is granted") {
  for (const unsigned room : {2U, 3U, 5U}) {
    CAPTURE(room);
    Crew crew = take_of(room, {.workers = 5, .at_least = 2});
    CHECK(crew.members() == room);
    CHECK(crew.pids().size() == room);
    const CrewFunction walk = entry(crew, "walk");
    const Walk asked{.left = 100, .stride = 1};
    CHECK(walk_of(walk.invoke(room, bytes_of(asked))).sum == sum_of(asked, room, room));
    if (room < 5)
      check_clear(error_of([&] { (void)walk.invoke(room + 1, bytes_of(asked)); }),
                  ErrorKind::bad_request);
  }
}

TEST_CASE_FIXTURE(SmallCrewFixture, "a crew with too few members, or too many, is not taken") {
  for (const unsigned room : {2U, 6U}) {
    const Error error = error_of([&] { (void)take_of(room, {.workers = 5, .at_least = 3}); });
    check_clear(error, ErrorKind::lease_ended);
    CHECK(error.message().find("granted fewer members, or more") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(SmallCrewFixture, "the next lease of a crew may be smaller, and calls are told") {
  Crew crew = take_of(4, {.workers = 4, .at_least = 2});
  const CrewFunction walk = entry(crew, "walk");
  const CrewFunction linger = entry(crew, "linger");
  std::future<Reply> walks = walk.async(1, bytes_of({.left = 5'000}));
  std::future<Reply> lingers = linger.async(4, "");
  source->room = 3;
  executor.evict(source->members().at(1));
  REQUIRE(eventually([&] { return crew.formations() == 2 && crew.pids().size() == 3; }));
  CHECK(crew.members() == 3);
  CHECK(walk_of(walks.get()).left == 0);
  const Error gone = error_of([&] { (void)lingers.get(); });
  check_clear(gone, ErrorKind::worker_lost);
  CHECK(gone.message().find("there is no member 4 any more") != std::string::npos);
  const Walk asked{.left = 9, .stride = 1};
  CHECK(walk_of(walk.invoke(2, bytes_of(asked))).sum == sum_of(asked, 2, 3));
}

}  // namespace orchid::tests
