// bfs: one level of a breadth-first search of a graph that is spread over the members of a crew.
//
// The edges of vertex v lie at member v % members + 1. A call brings the vertices of the last level
// there, and gives back those that they lead to: code goes where edges are, and only a bit for each
// vertex moves. Members keep nothing of a search, so that one that is lost costs a level and not a
// result.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "orchid/function.hpp"
#include "rmat.h"

namespace {

/// The edges of one member's vertices, in the form of compressed rows. It lives as long as the
/// process, and is made by the first call; a real one would read it from a data object.
class Part {
 public:
  void hold(const bfs::Graph& graph, std::uint32_t member, std::uint32_t members) {
    if (is_of(graph)) return;
    const std::uint64_t rows = (graph.vertices() + members - member) / members;
    std::vector<std::uint64_t> ends(rows + 1);
    for_own_edges(graph, member, members,
                  [&](const bfs::Edge& edge) { ++ends[edge.from / members + 1]; });
    for (std::size_t row = 0; row < rows; ++row) ends[row + 1] += ends[row];
    to_.resize(ends[rows]);
    begins_ = ends;
    for_own_edges(graph, member, members,
                  [&](const bfs::Edge& edge) { to_[ends[edge.from / members]++] = edge.to; });
    graph_ = graph;
  }
  template <typename Visit>
  void for_neighbours(std::uint64_t row, Visit visit) const {
    for (std::uint64_t i = begins_[row]; i < begins_[row + 1]; ++i) visit(to_[i]);
  }

 private:
  [[nodiscard]] bool is_of(const bfs::Graph& graph) const {
    return std::memcmp(&graph, &graph_, sizeof(graph)) == 0;
  }
  /// In both directions.
  template <typename Visit>
  static void for_own_edges(const bfs::Graph& graph, std::uint32_t member, std::uint32_t members,
                            Visit visit) {
    for (std::uint64_t i = 0; i < graph.edges(); ++i) {
      const bfs::Edge edge = bfs::edge(graph, i);
      if (edge.from % members + 1 == member) visit(edge);
      if (edge.to % members + 1 == member) visit(bfs::Edge{.from = edge.to, .to = edge.from});
    }
  }

  bfs::Graph graph_{};
  std::vector<std::uint64_t> begins_;  // of a row's edges
  std::vector<std::uint32_t> to_;
};

Part part;

std::int32_t refuse(orchid_call* call, std::string_view why) {
  orchid_error(call, why.data(), why.size());
  return ORCHID_ERROR;
}

}  // namespace

/// Input: a bfs::Graph, and a bit for each vertex: whether it is in the last level. Output: a bit
/// for each vertex: whether one of those that lie here leads to it.
ORCHID_ENTRY(bfs) {
  orchid::Call running(call);
  bfs::Graph graph{};
  if (input_size < sizeof(graph)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&graph, input, sizeof(graph));
  constexpr std::uint32_t largest_scale = 18;
  if (graph.scale < 3 || graph.scale > largest_scale) return ORCHID_BAD_ARGUMENTS;
  const std::size_t bytes = graph.vertices() / 8;
  if (input_size != sizeof(graph) + bytes) return ORCHID_BAD_ARGUMENTS;
  const std::uint32_t members = running.member_count();
  if (members == 0) return refuse(call, "bfs runs in a crew: call it through Client::crew");
  part.hold(graph, running.member(), members);
  const auto* const last = static_cast<const std::uint8_t*>(input) + sizeof(graph);
  auto* const next = static_cast<std::uint8_t*>(orchid_output(call, bytes));
  if (next == nullptr) return ORCHID_ERROR;
  std::memset(next, 0, bytes);
  for (std::uint64_t vertex = running.member() - 1; vertex < graph.vertices(); vertex += members)
    if ((last[vertex / 8] >> (vertex % 8) & 1U) != 0)
      part.for_neighbours(vertex / members, [next](std::uint32_t to) {
        next[to / 8] = static_cast<std::uint8_t>(next[to / 8] | 1U << (to % 8));
      });
  return ORCHID_OK;
}
