// The example functions/tree against a walk through the same tree in one process.
#include <signal.h>

#include <future>
#include <vector>

#include "crew_fixture.h"

namespace orchid::tests {
namespace {

struct Branch {
  std::uint64_t name = 0;
  std::uint32_t depth = 0;
  std::uint32_t grain = 0;
};

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

/// As the function makes its tree up.
std::uint64_t count(const Branch& root) {
  std::vector<Branch> waiting{root};
  std::uint64_t nodes = 0;
  while (!waiting.empty()) {
    const Branch node = waiting.back();
    waiting.pop_back();
    ++nodes;
    const std::uint64_t children = node.depth == 24 ? 0 : mix(node.name) % 4;
    for (std::uint64_t i = 0; i < children; ++i)
      waiting.push_back({mix(node.name + 0x9e3779b97f4a7c15ULL * (i + 1)), node.depth + 1, 0});
  }
  return nodes;
}

/// One that has so many nodes at least.
Branch tree_of(std::uint64_t least, std::uint64_t most) {
  for (std::uint64_t name = 1; name < 1'000; ++name)
    if (const std::uint64_t nodes = count({.name = name}); nodes >= least && nodes <= most)
      return {.name = name};
  FAIL("no tree is of that size");
  return {};
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture, "an unbalanced tree is counted as it is, also while a member dies") {
  Crew crew = take({.workers = 3});
  const CrewFunction tree = entry_of(crew, std::filesystem::path(EXAMPLES) / "tree.bc", "tree");
  for (const std::uint64_t name : {3U, 4U, 5U, 6U}) {
    const Branch here{.name = name, .grain = 24};
    CHECK(value_of<std::uint64_t>(tree.invoke(1, std::as_bytes(std::span(&here, 1)))) ==
          count(here));
  }
  Branch large = tree_of(20'000, 200'000);
  const std::uint64_t nodes = count(large);
  for (const std::uint32_t grain : {0U, 4U, 12U}) {
    CAPTURE(grain);
    large.grain = grain;
    CHECK(value_of<std::uint64_t>(tree.invoke(2, std::as_bytes(std::span(&large, 1)))) == nodes);
  }
  large.grain = 0;
  std::vector<std::future<Reply>> counts;
  for (unsigned member = 1; member <= 3; ++member)
    counts.push_back(tree.async(member, std::as_bytes(std::span(&large, 1))));
  REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(1)), SIGKILL) == 0);
  for (auto& each : counts) CHECK(value_of<std::uint64_t>(each.get()) == nodes);
}

}  // namespace orchid::tests
