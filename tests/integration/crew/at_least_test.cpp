// Crews that may have fewer members than were asked for.
#include <array>
#include <cstring>
#include <future>
#include <string>
#include <string_view>
#include <vector>

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

/// What `ask` of walks_crew.c is given: where it goes on, with how many bytes, in which entry.
std::vector<std::byte> goes_to(std::uint32_t member, std::string_view entry) {
  const std::array<std::uint32_t, 2> wish{member, sizeof(Walk)};
  std::vector<std::byte> bytes(sizeof(wish) + entry.size());
  std::memcpy(bytes.data(), wish.data(), sizeof(wish));
  std::memcpy(bytes.data() + sizeof(wish), entry.data(), entry.size());
  return bytes;
}

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

TEST_CASE_FIXTURE(SmallCrewFixture, "a function that goes on at a member that is gone is told so") {
  Crew crew = take_of(4, {.workers = 4, .at_least = 2});
  const CrewFunction ask = entry(crew, "ask");
  const auto check_nobody = [](const Error& error, const std::string& member) {
    check_clear(error, ErrorKind::function_error);
    CHECK(error.message().find("there is no member " + member) != std::string::npos);
  };
  CHECK(walk_of(ask.invoke(1, goes_to(4, "walk"))).sum == 4);
  // It has been at member 4 when that goes, and comes to nobody when it begins again.
  std::future<Reply> lingers = ask.async(1, goes_to(4, "linger"));
  CHECK(lingers.wait_for(milliseconds(100)) == std::future_status::timeout);
  source->room = 3;
  executor.evict(source->members().at(1));
  REQUIRE(eventually([&] { return crew.formations() == 2 && crew.pids().size() == 3; }));
  check_nobody(error_of([&] { (void)lingers.get(); }), "4");
  for (const std::uint32_t member : {4U, 5U})  // one that was there, and one that never was
    check_nobody(error_of([&] { (void)ask.invoke(1, goes_to(member, "walk")); }),
                 std::to_string(member));
  CHECK(walk_of(ask.invoke(1, goes_to(3, "walk"))).sum == 3);
}

}  // namespace orchid::tests
