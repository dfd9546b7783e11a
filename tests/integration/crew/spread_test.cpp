// Crews at two executors: members of one share memory, and reach those of the other over UCX.
#include <signal.h>

#include <array>
#include <bit>
#include <chrono>
#include <filesystem>
#include <future>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spread_fixture.h"

namespace orchid::tests {

TEST_CASE_FIXTURE(SpreadFixture,
                  "a call walks over the members of two executors, whoever it began at") {
  for (const bool is_far : {false, true}) {
    CAPTURE(is_far);
    Crew crew = take({.workers = 4}, is_far);
    const CrewFunction walk = CrewFixture::entry(crew, "walk");
    for (unsigned first = 1; first <= 4; ++first) {
      const Walk start{.left = 40, .stride = 3};
      const Walk end = walk_of(walk.invoke(first, bytes_of(start)));
      CHECK(end.sum == sum_of(start, first, 4));
    }
    CHECK(crew.formations() == 1);
  }
}

TEST_CASE_FIXTURE(SpreadFixture, "inputs, outputs and logs of any size go between executors") {
  Crew crew = take({.workers = 4});
  const CrewFunction walk = CrewFixture::entry(crew, "walk");
  for (const std::size_t more : {0U, 48U, 49U, 5000U, 60U << 10, (64U << 10) - 16U}) {
    CAPTURE(more);
    const Walk start{.left = 9, .stride = 1};
    const Reply reply = walk.invoke(2, bytes_of(start, more));
    CHECK(reply.output.size() == sizeof(Walk) + more);
    CHECK(walk_of(reply).sum == sum_of(start, 2, 4));
    CHECK(std::all_of(reply.output.begin() + sizeof(Walk), reply.output.end(),
                      [](std::byte byte) { return byte == std::byte{7}; }));
  }
  const Error error = error_of(
      [&] { (void)CrewFixture::entry(crew, "complain").invoke(1, bytes_of({.left = 4})); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.log() == "at 1\nat 2\nat 3\nat 4\nat 1\n");
}

TEST_CASE_FIXTURE(SpreadFixture, "path and log of a traced call come from both executors") {
  Crew crew = take({.workers = 4});
  const Walk asked{.left = 4, .stride = 3};
  const Reply walked =
      CrewFixture::entry(crew, "walk").invoke(2, bytes_of(asked, 500), {.trace = true});
  CHECK(walk_of(walked).sum == sum_of(asked, 2, 4));
  CHECK(members_of(walked.path) == std::vector<unsigned>{2, 1, 4, 3, 2});
  for (const CallStep& step : walked.path) CHECK(step.entry == "walk");
  const Error error = error_of([&] {
    (void)CrewFixture::entry(crew, "complain").invoke(2, bytes_of({.left = 1}), {.trace = true});
  });
  check_clear(error, ErrorKind::function_error);
  const std::string log = error.log();
  CHECK(log.find("[member 2: complain, ") < log.find("at 2\n"));
  CHECK(log.find("at 2\n") < log.find("[member 3: complain, "));
  CHECK(log.find("[member 3: complain, ") < log.find("at 3\n"));
  CHECK(log.find("at 3\n") != std::string::npos);
}

TEST_CASE_FIXTURE(SpreadFixture, "many calls are under way at once between executors") {
  Crew crew = take({.workers = 4});
  const CrewFunction walk = CrewFixture::entry(crew, "walk");
  const Walk asked{.left = 30, .stride = 3};
  std::vector<std::future<Reply>> replies;
  for (unsigned i = 0; i < 2000; ++i)
    replies.push_back(walk.async(i % 4 + 1, bytes_of(asked, i % 7 == 0 ? 20'000 : i % 100)));
  for (unsigned i = 0; i < replies.size(); ++i)
    CHECK(walk_of(replies[i].get()).sum == sum_of(asked, i % 4 + 1, 4));
  CHECK(crew.formations() == 1);
}

/// For longer than any connection may be silent, and with more waiting for it than its connections
/// hold.
TEST_CASE_FIXTURE(SpreadFixture, "a member that computes long keeps what waits for it") {
  constexpr unsigned busy = 4;  // at the second executor
  Crew crew = take({.workers = 4});
  const CrewFunction walk = CrewFixture::entry(crew, "walk");
  const CrewFunction computes =
      CrewFixture::entry_of(crew, std::filesystem::path(FUNCTIONS) / "computes.bc", "computes");
  const auto compute = [&](std::string_view time_ms) {
    return computes.async(busy, std::as_bytes(std::span(time_ms)));
  };
  (void)compute("1").get();
  std::future<Reply> computing = compute("9000");
  // Half of them from the client, and half from a member at the first executor.
  const std::array<Walk, 2> asked{{{.left = 0, .stride = 1}, {.left = 1, .stride = 3}}};
  const std::array<unsigned, 2> first{busy, 1};
  std::vector<std::future<Reply>> replies;
  for (unsigned i = 0; i < 32; ++i)
    replies.push_back(
        walk.async(first.at(i % 2), bytes_of(asked.at(i % 2), (64U << 10) - sizeof(Walk))));
  CHECK(computing.wait_for(seconds(60)) == std::future_status::ready);
  CHECK_FALSE(computing.get().output.empty());
  for (unsigned i = 0; i < replies.size(); ++i)
    CHECK(walk_of(replies.at(i).get()).sum == sum_of(asked.at(i % 2), first.at(i % 2), 4));
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(SpreadFixture,
                  "each member is killed in the middle of chains between executors") {
  constexpr unsigned members = 4;
  Crew crew = take({.workers = members, .within = seconds(20)});
  const CrewFunction walk = CrewFixture::entry(crew, "walk");
  for (unsigned victim = 1; victim <= members; ++victim) {
    CAPTURE(victim);
    const unsigned before = crew.formations();
    const auto old = crew.pids();
    REQUIRE(old.size() == members);
    const Walk asked{.left = 3'000, .stride = 1};
    std::vector<std::future<Reply>> replies;
    for (unsigned i = 0; i < 8; ++i)
      replies.push_back(walk.async(i % members + 1, bytes_of(asked)));
    REQUIRE(::kill(static_cast<pid_t>(old[victim - 1]), SIGKILL) == 0);
    for (unsigned i = 0; i < replies.size(); ++i)
      CHECK(walk_of(replies[i].get()).sum == sum_of(asked, i % members + 1, members));
    CHECK(eventually([&] { return crew.pids().size() == members && crew.formations() > before; }));
    const auto fresh = crew.pids();
    for (const std::int64_t pid : fresh) CHECK(std::ranges::find(old, pid) == old.end());
  }
}

TEST_CASE_FIXTURE(SpreadFixture, "a call that crashes at another executor ends itself alone") {
  Crew crew = take({.workers = 4, .within = seconds(20)});
  const CrewFunction walk = CrewFixture::entry(crew, "walk");
  const CrewFunction crash = CrewFixture::entry(crew, "crash_at");
  const Walk asked{.left = 3'000, .stride = 1};
  for (const std::uint32_t at : {1U, 4U}) {
    CAPTURE(at);
    std::vector<std::future<Reply>> others;
    for (unsigned member = 1; member <= 4; ++member)
      others.push_back(walk.async(member, bytes_of(asked)));
    const Error error =
        error_of([&] { (void)crash.invoke(5 - at, std::as_bytes(std::span(&at, 1))); });
    check_clear(error, ErrorKind::function_crashed);
    CHECK(error.attempt() == 1);
    for (unsigned member = 1; member <= 4; ++member)
      CHECK(walk_of(others[member - 1].get()).sum == sum_of(asked, member, 4));
  }
}

TEST_CASE_FIXTURE(SpreadFixture,
                  "at most once means that a call lost at another executor is not begun again") {
  Crew crew = take({.workers = 2});
  std::future<Reply> lingers =
      CrewFixture::entry(crew, "linger").async(1, bytes_of({}), {.at_most_once = true});
  CHECK(lingers.wait_for(milliseconds(100)) == std::future_status::timeout);
  REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(1)), SIGKILL) == 0);
  const Error error = error_of([&] { (void)lingers.get(); });
  check_clear(error, ErrorKind::worker_lost);
  CHECK(error.attempt() == 1);
}

TEST_CASE_FIXTURE(SpreadFixture, "a call is cancelled wherever it is, in the middle of a chain") {
  Crew crew = take({.workers = 4});
  const CrewFunction walk = CrewFixture::entry(crew, "walk");
  std::stop_source stop;
  std::future<Reply> walking =
      walk.async(1, bytes_of({.left = 900'000, .stride = 1}), {.stop = stop.get_token()});
  CHECK(walking.wait_for(milliseconds(50)) == std::future_status::timeout);
  stop.request_stop();
  check_clear(error_of([&] { (void)walking.get(); }), ErrorKind::cancelled);
  for (unsigned member = 1; member <= 4; ++member) {
    std::stop_source end;
    std::future<Reply> lingers =
        CrewFixture::entry(crew, "linger").async(member, bytes_of({}), {.stop = end.get_token()});
    CHECK(lingers.wait_for(milliseconds(50)) == std::future_status::timeout);
    end.request_stop();
    check_clear(error_of([&] { (void)lingers.get(); }), ErrorKind::cancelled);
  }
  CHECK(walk_of(walk.invoke(3, bytes_of({.left = 7, .stride = 1}))).left == 0);
}

TEST_CASE_FIXTURE(SpreadFixture, "a deadline ends a chain between executors") {
  Crew crew = take({.workers = 2});
  const CrewFunction walk = CrewFixture::entry(crew, "walk");
  check_clear(error_of([&] {
                (void)walk.invoke(1, bytes_of({.left = 999'000, .stride = 1}),
                                  {.deadline = milliseconds(100)});
              }),
              ErrorKind::deadline_exceeded);
  CHECK(walk_of(walk.invoke(2, bytes_of({.left = 7, .stride = 1}))).left == 0);
}

TEST_CASE_FIXTURE(SpreadFixture, "members at another executor are given some of what was spawned") {
  Crew crew = take({.workers = 4, .within = seconds(20)});
  const CrewFunction fib = spawner(crew, "fib");
  std::uint64_t seen = 0;
  const bool shared = eventually([&] {
    const auto sum =
        value_of<Fib>(fib.invoke(1, std::as_bytes(std::span<const std::uint32_t>({22U}))));
    CHECK(sum.value == 17711);
    seen |= sum.members;
    return std::popcount(seen) == 4;
  });
  CAPTURE(seen);
  CHECK(shared);
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(SpreadFixture,
                  "a crew of which an executor takes cores back goes on in another lease") {
  Crew crew = take({.workers = 4, .within = seconds(20)});
  const CrewFunction walk = CrewFixture::entry(crew, "walk");
  const std::string lease = crew.id();
  const Walk asked{.left = 5'000, .stride = 1};
  std::future<Reply> walking = walk.async(1, bytes_of(asked));
  second.evict(source->members().at(1));  // granted in turn
  CHECK(walk_of(walking.get()).sum == sum_of(asked, 1, 4));
  CHECK(eventually([&] { return crew.formations() == 2 && crew.pids().size() == 4; }));
  CHECK(crew.id() != lease);
}

TEST_CASE_FIXTURE(SpreadFixture,
                  "an at most once call at a member that either executor takes back is evicted") {
  for (const unsigned lost : {1U, 2U}) {
    CAPTURE(lost);
    Crew crew = take({.workers = 2, .within = seconds(20)});
    const CrewFunction linger = CrewFixture::entry(crew, "linger");
    std::future<Reply> at_it = linger.async(lost, bytes_of({}), {.at_most_once = true});
    std::future<Reply> beside = linger.async(3 - lost, bytes_of({}), {.at_most_once = true});
    CHECK(at_it.wait_for(milliseconds(100)) == std::future_status::timeout);
    CHECK(beside.wait_for(milliseconds(100)) == std::future_status::timeout);
    const LeaseId lease = source->members().at(lost - 1);
    lost == 1 ? first.evict(lease) : second.evict(lease);
    check_clear(error_of([&] { (void)at_it.get(); }), ErrorKind::evicted);
    check_clear(error_of([&] { (void)beside.get(); }), ErrorKind::worker_lost);
  }
}

/// As many as a crew may have are in the benchmark crew_restart (--hosts).
TEST_CASE_FIXTURE(SpreadFixture, "16 members of two executors stand, walk, and stand again") {
  constexpr unsigned members = 16;
  Crew crew = take({.workers = members, .within = seconds(60)});
  const CrewFunction walk = CrewFixture::entry(crew, "walk");
  const Walk asked{.left = 500, .stride = 7};
  for (unsigned victim = 0; victim < 3; ++victim) {
    std::vector<std::future<Reply>> replies;
    for (unsigned member = 1; member <= members; ++member)
      replies.push_back(walk.async(member, bytes_of(asked, member * 1000)));
    for (unsigned member = 1; member <= members; ++member)
      CHECK(walk_of(replies[member - 1].get()).sum == sum_of(asked, member, members));
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(victim * 7)), SIGKILL) == 0);
    CHECK(eventually(
        [&] { return crew.formations() == victim + 2 && crew.pids().size() == members; }));
    MESSAGE("they stand again after "
            << std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start)
                   .count()
            << " ms");
  }
  CHECK(walk_of(walk.invoke(members, bytes_of(asked))).sum == sum_of(asked, members, members));
}

}  // namespace orchid::tests
