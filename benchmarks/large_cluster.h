// benchmarks/large_cluster.h: what a capacity source tells of a cluster of 10 000 nodes.
//
// Each node has 64 cores and two jobs of 24, one in ten has four GPUs, and each has a forecast of
// two windows.
#pragma once
#include <cstdint>
#include <string>

#include "protocol/source_messages.h"

namespace orchid::bench::large_cluster {

inline constexpr std::uint32_t nodes = 10'000;
inline constexpr std::uint32_t jobs = 2 * nodes;
inline constexpr std::uint32_t cores_per_node = 64;

[[nodiscard]] std::string node_name(std::uint32_t number);
[[nodiscard]] SourceNode node(std::uint32_t number);
/// `id` says which half of which node: from 0 to `jobs`. The cores lie `shift` higher, up to 16.
[[nodiscard]] SourceJob job(std::uint64_t id, ClusterTime end, std::uint32_t shift = 0);
/// All nodes, jobs and forecasts; the jobs have the numbers from `first_job` on.
[[nodiscard]] SourceUpdate everything(std::uint64_t first_job = 0, std::uint32_t shift = 0);

}  // namespace orchid::bench::large_cluster
