// Calls that go on from member to member.
#include <future>
#include <thread>
#include <vector>

#include "crew_fixture.h"

namespace orchid::tests {

TEST_CASE_FIXTURE(CrewFixture, "a call goes from member to member, and the last one answers") {
  Crew crew = take({.workers = 4});
  const CrewFunction walk = entry(crew, "walk");
  CHECK(crew.members() == 4);
  CHECK(crew.formations() == 1);
  for (const unsigned first : {1U, 2U, 4U})
    for (const std::uint32_t left : {0U, 1U, 3U, 1000U}) {
      const Walk asked{.left = left, .stride = 1};
      const Walk seen = walk_of(walk.invoke(first, bytes_of(asked)));
      CHECK(seen.left == 0);
      CHECK(seen.sum == sum_of(asked, first, 4));
    }
}

TEST_CASE_FIXTURE(CrewFixture, "a call may go on at the same member, and in another entry") {
  Crew crew = take({.workers = 2});
  const Walk to_itself{.left = 500, .stride = 0};
  const Walk in_turns{.left = 501, .stride = 1};
  for (const std::size_t more : {std::size_t{0}, std::size_t{5000}}) {
    CHECK(walk_of(entry(crew, "walk").invoke(2, bytes_of(to_itself, more))).sum ==
          sum_of(to_itself, 2, 2));
    CHECK(walk_of(entry(crew, "hop").invoke(1, bytes_of(in_turns, more))).sum ==
          sum_of(in_turns, 1, 2));
  }
}

TEST_CASE_FIXTURE(CrewFixture, "inputs go along whole, up to the limit") {
  Crew crew = take({.workers = 3});
  const CrewFunction walk = entry(crew, "walk");
  for (const std::size_t size : {sizeof(Walk), std::size_t{64}, std::size_t{65}, std::size_t{4096},
                                 std::size_t{64} << 10U}) {
    CAPTURE(size);
    const std::vector<std::byte> input = bytes_of({.left = 30, .stride = 1}, size - sizeof(Walk));
    const Reply reply = walk.invoke(1, input);
    REQUIRE(reply.output.size() == size);
    CHECK(
        std::equal(input.begin() + sizeof(Walk), input.end(), reply.output.begin() + sizeof(Walk)));
  }
}

TEST_CASE_FIXTURE(CrewFixture, "many calls are under way at once, more than the crew's window") {
  Crew crew = take({.workers = 4});
  const CrewFunction walk = entry(crew, "walk");
  constexpr unsigned calls = 1000;
  std::vector<std::future<Reply>> replies;
  for (unsigned i = 0; i < calls; ++i)
    replies.push_back(walk.async(i % 4 + 1, bytes_of({.left = i % 50, .stride = i % 4}, i % 200)));
  for (unsigned i = 0; i < calls; ++i) {
    const Walk asked{.left = i % 50, .stride = i % 4};
    CHECK(walk_of(replies[i].get()).sum == sum_of(asked, i % 4 + 1, 4));
  }
}

TEST_CASE_FIXTURE(CrewFixture, "several threads use one crew") {
  Crew crew = take({.workers = 2, .wait = Wait::blocking});
  const CrewFunction walk = entry(crew, "walk");
  std::atomic<unsigned> right{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < 4; ++thread)
      threads.emplace_back([&] {
        for (std::uint32_t left = 0; left < 50; ++left) {
          const Walk asked{.left = left, .stride = 1};
          if (walk_of(walk.invoke(1, bytes_of(asked))).sum == sum_of(asked, 1, 2)) ++right;
        }
      });
  }
  CHECK(right == 200);
}

TEST_CASE_FIXTURE(CrewFixture, "what was logged on the way comes with the error at the end") {
  Crew crew = take({.workers = 3});
  const Error error =
      error_of([&] { (void)entry(crew, "complain").invoke(2, bytes_of({.left = 3})); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message() == "the end of the walk");
  CHECK(error.log() == "at 2\nat 3\nat 1\nat 2\n");
}

TEST_CASE_FIXTURE(CrewFixture, "a call is cancelled wherever it is, and the crew goes on") {
  Crew crew = take({.workers = 2});
  const CrewFunction walk = entry(crew, "walk");
  std::stop_source stop;
  std::future<Reply> walking =
      walk.async(1, bytes_of({.left = 1'000'000'000, .stride = 1}), {.stop = stop.get_token()});
  CHECK(walking.wait_for(milliseconds(20)) == std::future_status::timeout);
  stop.request_stop();
  check_clear(error_of([&] { (void)walking.get(); }), ErrorKind::cancelled);
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 3}))).left == 0);
}

TEST_CASE_FIXTURE(CrewFixture, "the deadline goes along") {
  Crew crew = take({.workers = 2});
  const CrewFunction walk = entry(crew, "walk");
  const auto began = std::chrono::steady_clock::now();
  const Error error = error_of([&] {
    (void)walk.invoke(1, bytes_of({.left = 1'000'000'000, .stride = 1}),
                      {.deadline = milliseconds(50)});
  });
  check_clear(error, ErrorKind::deadline_exceeded);
  CHECK(std::chrono::steady_clock::now() - began < seconds(5));
  check_clear(error_of([&] {
                (void)entry(crew, "linger").invoke(2, bytes_of({}), {.deadline = milliseconds(50)});
              }),
              ErrorKind::deadline_exceeded);
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 3}))).left == 0);
}

}  // namespace orchid::tests
