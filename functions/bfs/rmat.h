// functions/bfs/rmat.h: the edges of an R-MAT graph (Chakrabarti, Zhan and Faloutsos 2004), with
// the probabilities of the Graph500 benchmark: a few vertices have many edges, most have few.
#pragma once
#include <cstdint>

namespace bfs {

struct Graph {
  std::uint32_t scale;  // it has 2^scale vertices, 3 <= scale <= 18
  std::uint32_t edges_of_each;
  std::uint64_t seed;

  [[nodiscard]] std::uint64_t vertices() const { return std::uint64_t{1} << scale; }
  [[nodiscard]] std::uint64_t edges() const { return vertices() * edges_of_each; }
};

struct Edge {
  std::uint32_t from;
  std::uint32_t to;
};

/// Steele, Lea and Flood's SplitMix64.
inline std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t mixed = state += 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31U);
}

/// Edge `number` of `graph`: the same wherever it is asked for.
inline Edge edge(const Graph& graph, std::uint64_t number) {
  std::uint64_t state = graph.seed + (number << 20U);
  Edge made{.from = 0, .to = 0};
  for (std::uint32_t level = 0; level < graph.scale; ++level) {
    // Of 100: 57 in the upper left quarter of the matrix, 19 in the upper right and lower left
    // each.
    const std::uint64_t part = next_random(state) % 100;
    const std::uint32_t lower = part >= 76 ? 1 : 0;
    const std::uint32_t right = (part >= 57 && part < 76) || part >= 95 ? 1 : 0;
    made.from = made.from << 1U | lower;
    made.to = made.to << 1U | right;
  }
  return made;
}

}  // namespace bfs
