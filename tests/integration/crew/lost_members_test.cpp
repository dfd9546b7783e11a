// Members that are lost: the crew is formed anew, and no call is lost or answered twice.
#include <signal.h>

#include <future>
#include <set>
#include <vector>

#include "crew_fixture.h"

namespace orchid::tests {
namespace {

std::set<std::int64_t> pids_of(const Crew& crew) {
  const auto pids = crew.pids();
  return {pids.begin(), pids.end()};
}

bool share_nothing(const std::set<std::int64_t>& some, const std::set<std::int64_t>& others) {
  for (const std::int64_t pid : some)
    if (others.contains(pid)) return false;
  return true;
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture,
                  "each member is killed in the middle of chains, which all end once") {
  constexpr unsigned members = 4;
  Crew crew = take({.workers = members});
  const CrewFunction walk = entry(crew, "walk");
  for (unsigned victim = 1; victim <= members; ++victim) {
    CAPTURE(victim);
    const unsigned before = crew.formations();
    const auto old = pids_of(crew);
    REQUIRE(old.size() == members);
    const Walk asked{.left = 20'000, .stride = 1};
    std::vector<std::future<Reply>> replies;
    for (unsigned i = 0; i < 8; ++i)
      replies.push_back(walk.async(i % members + 1, bytes_of(asked)));
    const auto pids = crew.pids();
    REQUIRE(pids.size() == members);
    REQUIRE(::kill(static_cast<pid_t>(pids[victim - 1]), SIGKILL) == 0);
    for (unsigned i = 0; i < replies.size(); ++i)
      CHECK(walk_of(replies[i].get()).sum == sum_of(asked, i % members + 1, members));
    CHECK(eventually([&] { return crew.pids().size() == members && crew.formations() > before; }));
    CHECK(share_nothing(old, pids_of(crew)));
  }
}

TEST_CASE_FIXTURE(CrewFixture, "a crew whose member dies idle stands again by itself") {
  Crew crew = take({.workers = 3});
  const CrewFunction walk = entry(crew, "walk");
  REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(1)), SIGKILL) == 0);
  CHECK(eventually([&] { return crew.formations() == 2; }));
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 10}))).left == 0);
}

TEST_CASE_FIXTURE(CrewFixture, "at most once means that a lost call is not begun again") {
  Crew crew = take({.workers = 2});
  std::future<Reply> lingers = entry(crew, "linger").async(1, bytes_of({}), {.at_most_once = true});
  CHECK(lingers.wait_for(milliseconds(100)) == std::future_status::timeout);
  // The other one: the call was not what ended the crew, but it has begun.
  REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(1)), SIGKILL) == 0);
  const Error error = error_of([&] { (void)lingers.get(); });
  check_clear(error, ErrorKind::worker_lost);
  CHECK(error.attempt() == 1);
}

TEST_CASE_FIXTURE(CrewFixture,
                  "a call that is sent to a member that is gone ends when that lasts") {
  Crew crew = take({.workers = 2});
  std::future<Reply> lingers = entry(crew, "linger").async(2, bytes_of({}));
  for (unsigned death = 1; death <= 3; ++death) {
    CAPTURE(death);
    REQUIRE(eventually([&] { return crew.formations() == death && crew.pids().size() == 2; }));
    CHECK(lingers.wait_for(milliseconds(300)) == std::future_status::timeout);
    REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(1)), SIGKILL) == 0);
  }
  const Error error = error_of([&] { (void)lingers.get(); });
  check_clear(error, ErrorKind::worker_lost);
  CHECK(error.attempt() == 3);
}

TEST_CASE_FIXTURE(CrewFixture, "a call that crashes at another member ends itself alone") {
  Crew crew = take({.workers = 3});
  const CrewFunction walk = entry(crew, "walk");
  const CrewFunction crash = entry(crew, "crash_at");
  const Walk asked{.left = 3'000, .stride = 1};
  std::vector<std::future<Reply>> others;
  for (unsigned member = 1; member <= 3; ++member)
    others.push_back(walk.async(member, bytes_of(asked)));
  const std::uint32_t at = 3;
  const Error error = error_of([&] { (void)crash.invoke(1, std::as_bytes(std::span(&at, 1))); });
  check_clear(error, ErrorKind::function_crashed);
  CHECK(error.attempt() == 1);
  for (unsigned member = 1; member <= 3; ++member)
    CHECK(walk_of(others[member - 1].get()).sum == sum_of(asked, member, 3));
}

TEST_CASE_FIXTURE(CrewFixture, "a stopped member is found, and replaced with its crew") {
  Crew crew = take({.workers = 2});
  const CrewFunction walk = entry(crew, "walk");
  const auto old = crew.pids();
  REQUIRE(::kill(static_cast<pid_t>(old.at(0)), SIGSTOP) == 0);
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 100}))).left == 0);
  CHECK(crew.pids() != old);
}

TEST_CASE_FIXTURE(CrewFixture, "a crew whose cores are taken back goes on in another lease") {
  Crew crew = take({.workers = 3});
  const CrewFunction walk = entry(crew, "walk");
  const std::string lease = crew.id();
  const Walk asked{.left = 6'000, .stride = 1};
  std::future<Reply> walking = walk.async(1, bytes_of(asked));
  executor.evict(source->members().at(1));
  CHECK(walk_of(walking.get()).sum == sum_of(asked, 1, 3));
  CHECK(eventually([&] { return crew.formations() == 2 && crew.pids().size() == 3; }));
  CHECK(crew.id() != lease);
  CHECK(walk_of(walk.invoke(3, bytes_of({.left = 7}))).left == 0);
}

TEST_CASE_FIXTURE(CrewFixture, "a module is not waited for without end while there is no crew") {
  Crew crew = take({.workers = 2, .within = seconds(2)});
  source->refuses = true;
  executor.evict(source->members().at(0));
  REQUIRE(eventually([&] { return crew.pids().empty(); }));
  const Error error = error_of([&] { (void)entry(crew, "walk"); });
  check_clear(error, ErrorKind::no_capacity);
  CHECK(error.message() == "no room for a crew");
  source->refuses = false;
  CHECK(eventually([&] { return crew.formations() == 2; }));
  CHECK(walk_of(entry(crew, "walk").invoke(1, bytes_of({.left = 3}))).left == 0);
}

TEST_CASE_FIXTURE(CrewFixture, "calls whose deadline passes while there is no crew say why") {
  Crew crew = take({.workers = 2, .within = seconds(2)});
  const CrewFunction walk = entry(crew, "walk");
  std::future<Reply> lingers =
      entry(crew, "linger").async(2, bytes_of({}), {.deadline = seconds(4)});
  CHECK(lingers.wait_for(milliseconds(100)) == std::future_status::timeout);
  source->refuses = true;
  executor.evict(source->members().at(0));
  REQUIRE(eventually([&] { return crew.pids().empty(); }));
  const auto why = [](const Error& error) {
    check_clear(error, ErrorKind::deadline_exceeded);
    return error.message();
  };
  const std::string no_crew = "the deadline passed while there was no crew: no room for a crew";
  CHECK(why(error_of([&] {
          (void)walk.invoke(1, bytes_of({.left = 5}), {.deadline = seconds(2)});
        })) == no_crew);
  CHECK(why(error_of([&] { (void)lingers.get(); })) == no_crew);
  source->refuses = false;
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 3}))).left == 0);
}

TEST_CASE_FIXTURE(CrewFixture, "an at most once call at a member that is taken back is evicted") {
  Crew crew = take({.workers = 2});
  std::future<Reply> at_it = entry(crew, "linger").async(1, bytes_of({}), {.at_most_once = true});
  std::future<Reply> beside = entry(crew, "linger").async(2, bytes_of({}), {.at_most_once = true});
  CHECK(at_it.wait_for(milliseconds(100)) == std::future_status::timeout);
  CHECK(beside.wait_for(milliseconds(100)) == std::future_status::timeout);
  executor.evict(source->members().at(0));
  check_clear(error_of([&] { (void)at_it.get(); }), ErrorKind::evicted);
  check_clear(error_of([&] { (void)beside.get(); }), ErrorKind::worker_lost);
  CHECK(walk_of(entry(crew, "walk").invoke(1, bytes_of({.left = 3}))).left == 0);
}

TEST_CASE_FIXTURE(CrewFixture, "two crews of one host end apart") {
  Crew one = take({.workers = 2});
  Crew other = take({.workers = 2});
  const CrewFunction walk = entry(other, "walk");
  REQUIRE(::kill(static_cast<pid_t>(one.pids().at(0)), SIGKILL) == 0);
  CHECK(eventually([&] { return one.formations() == 2; }));
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 10}))).left == 0);
  CHECK(other.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "a crew has up to 64 members") {
  Crew crew = take({.workers = 64, .within = seconds(60)});
  const CrewFunction walk = entry(crew, "walk");
  const Walk asked{.left = 640, .stride = 1};
  CHECK(walk_of(walk.invoke(1, bytes_of(asked, 1000))).sum == sum_of(asked, 1, 64));
}

}  // namespace orchid::tests
