// The example functions/chase against a walk through the same table in one process.
#include <signal.h>

#include <array>
#include <future>
#include <vector>

#include "chase_table.h"
#include "crew_fixture.h"

namespace orchid::tests {
namespace {

struct Chase {
  std::uint32_t entries = 0;
  std::uint32_t at = 0;
  std::uint32_t left = 0;
  std::uint32_t moves = 0;
};
struct End {
  std::uint32_t at = 0;
  std::uint32_t moves = 0;
  friend bool operator==(const End&, const End&) = default;
};

/// The same, by one who has all of it.
End follow(Chase chase, unsigned first, unsigned members) {
  unsigned member = first;
  for (;; --chase.left) {
    if (chase.left == 0) return {chase.at, chase.moves};
    if (chase.at % members + 1 != member) ++chase.moves;
    member = chase.at % members + 1;
    chase.at = chase_entry(chase.at, chase.entries);
  }
}

End end_of(const Reply& reply) {
  End end;
  REQUIRE(reply.output.size() == sizeof(end));
  std::memcpy(&end, reply.output.data(), sizeof(end));
  return end;
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture,
                  "chases over a spread table end where they should, also while a member dies") {
  constexpr unsigned members = 3;
  Crew crew = take({.workers = members});
  const CrewFunction chase = entry_of(crew, std::filesystem::path(EXAMPLES) / "chase.bc", "chase");
  for (const std::uint32_t left : {0U, 1U, 64U, 4096U}) {
    const Chase asked{.entries = 100'003, .at = 17, .left = left};
    CHECK(end_of(chase.invoke(2, std::as_bytes(std::span(&asked, 1)))) ==
          follow(asked, 2, members));
  }
  std::vector<Chase> asked;
  std::vector<std::future<Reply>> ends;
  for (std::uint32_t i = 0; i < 16; ++i)
    asked.push_back({.entries = 100'003, .at = i * 97, .left = 2'000});
  for (const Chase& each : asked)
    ends.push_back(chase.async(1, std::as_bytes(std::span(&each, 1))));
  REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(2)), SIGKILL) == 0);
  for (std::size_t i = 0; i < ends.size(); ++i)
    CHECK(end_of(ends[i].get()) == follow(asked[i], 1, members));
}

}  // namespace orchid::tests
