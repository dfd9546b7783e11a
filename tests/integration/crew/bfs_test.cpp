// The example functions/bfs, by a program that puts levels together, against a search in one
// process.
#include <signal.h>

#include <cstring>
#include <future>
#include <span>
#include <vector>

#include "bfs/rmat.h"
#include "crew_fixture.h"

namespace orchid::tests {
namespace {

using Bits = std::vector<std::uint8_t>;  // one for each vertex

constexpr std::uint32_t not_reached = ~std::uint32_t{0};

/// The level of each vertex, by one who has the whole graph.
std::vector<std::uint32_t> levels_here(const bfs::Graph& graph, std::uint32_t source) {
  std::vector<std::vector<std::uint32_t>> neighbours(graph.vertices());
  for (std::uint64_t i = 0; i < graph.edges(); ++i) {
    const bfs::Edge edge = bfs::edge(graph, i);
    neighbours[edge.from].push_back(edge.to);
    neighbours[edge.to].push_back(edge.from);
  }
  std::vector<std::uint32_t> levels(graph.vertices(), not_reached);
  levels[source] = 0;
  std::vector<std::uint32_t> last{source};
  for (std::uint32_t level = 1; !last.empty(); ++level) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t from : last)
      for (const std::uint32_t to : neighbours[from])
        if (levels[to] == not_reached) {
          levels[to] = level;
          next.push_back(to);
        }
    last = std::move(next);
  }
  return levels;
}

std::vector<std::byte> input_of(const bfs::Graph& graph, const Bits& last) {
  std::vector<std::byte> input(sizeof(graph) + last.size());
  std::memcpy(input.data(), &graph, sizeof(graph));
  std::memcpy(input.data() + sizeof(graph), last.data(), last.size());
  return input;
}

/// The same by the members of a crew. `before_level` is told of each.
template <typename BeforeLevel>
std::vector<std::uint32_t> levels_of(const CrewFunction& search, unsigned members,
                                     const bfs::Graph& graph, std::uint32_t source,
                                     BeforeLevel before_level) {
  std::vector<std::uint32_t> levels(graph.vertices(), not_reached);
  Bits last(graph.vertices() / 8);
  last[source / 8] = static_cast<std::uint8_t>(1U << (source % 8));
  levels[source] = 0;
  bool is_any = true;
  for (std::uint32_t level = 1; is_any; ++level) {
    before_level(level);
    const std::vector<std::byte> input = input_of(graph, last);
    std::vector<std::future<Reply>> parts;
    for (unsigned member = 1; member <= members; ++member)
      parts.push_back(search.async(member, input));
    Bits next(last.size());
    for (std::future<Reply>& part : parts) {
      const Reply reply = part.get();
      REQUIRE(reply.output.size() == next.size());
      for (std::size_t i = 0; i < next.size(); ++i)
        next[i] = static_cast<std::uint8_t>(next[i] | std::to_integer<unsigned>(reply.output[i]));
    }
    is_any = false;
    for (std::uint32_t vertex = 0; vertex < levels.size(); ++vertex) {
      if ((next[vertex / 8] >> (vertex % 8) & 1U) == 0) continue;
      if (levels[vertex] == not_reached) {
        levels[vertex] = level;
        is_any = true;
      } else {
        next[vertex / 8] = static_cast<std::uint8_t>(next[vertex / 8] & ~(1U << (vertex % 8)));
      }
    }
    last = std::move(next);
  }
  return levels;
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture,
                  "a spread graph is searched as it is in one place, also while a member dies") {
  constexpr unsigned members = 3;
  Crew crew = take({.workers = members});
  const CrewFunction search = entry_of(crew, std::filesystem::path(EXAMPLES) / "bfs.bc", "bfs");
  for (const std::uint32_t scale : {3U, 8U, 13U}) {
    const bfs::Graph graph{.scale = scale, .edges_of_each = 8, .seed = scale};
    const std::uint32_t source = bfs::edge(graph, 0).from;
    CHECK(levels_of(search, members, graph, source, [](std::uint32_t) {}) ==
          levels_here(graph, source));
  }
  const bfs::Graph graph{.scale = 14, .edges_of_each = 4, .seed = 5};
  const std::uint32_t source = bfs::edge(graph, 1).to;
  const auto killer = [&](std::uint32_t level) {
    if (level == 2) REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(1)), SIGKILL) == 0);
  };
  CHECK(levels_of(search, members, graph, source, killer) == levels_here(graph, source));
  CHECK(crew.formations() == 2);
}

TEST_CASE_FIXTURE(CrewFixture, "a search with a wrong level or graph is refused") {
  Crew crew = take({.workers = 2});
  const CrewFunction search = entry_of(crew, std::filesystem::path(EXAMPLES) / "bfs.bc", "bfs");
  const bfs::Graph graph{.scale = 8, .edges_of_each = 2, .seed = 1};
  CHECK_THROWS_AS((void)search.invoke(1, input_of(graph, Bits(31))), Error);
  const bfs::Graph large{.scale = 19, .edges_of_each = 2, .seed = 1};
  CHECK_THROWS_AS((void)search.invoke(1, input_of(large, Bits(32))), Error);
}

}  // namespace orchid::tests
