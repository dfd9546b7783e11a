// Calls that say where they went.
#include <future>
#include <string>
#include <vector>

#include "crew_fixture.h"

namespace orchid::tests {
namespace {

CrewCallOptions traced() { return {.trace = true}; }

}  // namespace

TEST_CASE_FIXTURE(CrewFixture, "a call that is traced says by which members it went") {
  Crew crew = take({.workers = 3});
  const Reply walked = entry(crew, "walk").invoke(2, bytes_of({.left = 4}, 500), traced());
  CHECK(walk_of(walked).left == 0);
  CHECK(members_of(walked.path) == std::vector<unsigned>{2, 3, 1, 2, 3});
  for (const CallStep& step : walked.path) CHECK(step.entry == "walk");
  const Reply hopped = entry(crew, "hop").invoke(1, bytes_of({.left = 1}), traced());
  REQUIRE(hopped.path.size() == 2);
  CHECK(hopped.path[1].entry == "skip");
  CHECK(entry(crew, "walk").invoke(1, bytes_of({.left = 4})).path.empty());
  // Of a long one the first steps.
  const Reply longer = entry(crew, "walk").invoke(1, bytes_of({.left = 3000}), traced());
  CHECK(walk_of(longer).sum == sum_of({.left = 3000}, 1, 3));
  CHECK(longer.path.size() > 100);
  CHECK(longer.path.size() < 3000);
}

TEST_CASE_FIXTURE(CrewFixture, "an error of a traced call has its steps among what was logged") {
  Crew crew = take({.workers = 2});
  const Error error =
      error_of([&] { (void)entry(crew, "complain").invoke(1, bytes_of({.left = 1}), traced()); });
  check_clear(error, ErrorKind::function_error);
  const std::string log = error.log();
  const std::size_t first = log.find("[member 1: complain, ");
  const std::size_t second = log.find("[member 2: complain, ");
  CHECK(first < log.find("at 1\n"));
  CHECK(log.find("at 1\n") < second);
  CHECK(second < log.find("at 2\n"));
  CHECK(log.find('\x1e') == std::string::npos);
}

TEST_CASE_FIXTURE(CrewFixture, "children of a traced call are in its path") {
  Crew crew = take({.workers = 2});
  const std::uint32_t n = 3;
  const Reply reply = entry_of(crew, std::filesystem::path(FUNCTIONS) / "spawns_children.bc", "fib")
                          .invoke(1, std::as_bytes(std::span(&n, 1)), traced());
  std::size_t runs = 0;
  std::size_t sums = 0;
  for (const CallStep& step : reply.path) (step.entry == "fib" ? runs : sums) += 1;
  CHECK(runs == 5);
  CHECK(sums == 2);
}

TEST_CASE_FIXTURE(CrewFixture, "the gateway is told of calls that were traced, and of no others") {
  Crew crew = take({.workers = 2});
  ExecutorCrews& grantor = *source;
  const CrewFunction walk = entry(crew, "walk");
  (void)walk.invoke(1, bytes_of({.left = 1}), traced());
  (void)walk.invoke(1, bytes_of({.left = 1}));
  CHECK_THROWS_AS((void)entry(crew, "waver").invoke(2, bytes_of({.left = 1}), traced()), Error);
  std::vector<sdk::TracedCall> told;
  REQUIRE(eventually([&] {
    for (sdk::TracedCall& call : grantor.take_told()) told.push_back(std::move(call));
    return told.size() >= 2;
  }));
  REQUIRE(told.size() == 2);
  CHECK(told[0].outcome == "ok");
  CHECK(told[0].function == "walk");
  CHECK(members_of(told[0].trace.path) == std::vector<unsigned>{1, 2});
  CHECK(told[1].outcome == "function_error");
  CHECK(told[1].message == "it has changed its mind");
  CHECK(told[1].member == 2);
}

}  // namespace orchid::tests
