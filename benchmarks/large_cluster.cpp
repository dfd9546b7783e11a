#include "large_cluster.h"

namespace orchid::bench::large_cluster {
namespace {

constexpr std::uint32_t cores_per_job = 24;

CoreList cores_from(std::uint32_t first, std::uint32_t count) {
  return without(first_numbers(first + count), first_numbers(first));
}

}  // namespace

std::string node_name(std::uint32_t number) { return "node" + std::to_string(number); }

SourceNode node(std::uint32_t number) {
  constexpr std::uint32_t free = cores_per_node - 2 * cores_per_job;
  SourceNode node{.name = node_name(number),
                  .address = node_name(number) + ".cluster.example",
                  .hostname = node_name(number),
                  .architecture = "x86_64",
                  .features = {"avx512", "ib"},
                  .partitions = {"batch", "idle"},
                  .sockets = 2,
                  .cores_per_socket = cores_per_node / 2,
                  .cores_usable = cores_per_node,
                  .memory = {256ULL << 30},
                  .cores_free = free,
                  .free_cores = cores_from(2 * cores_per_job, free),
                  .memory_free = {128ULL << 30}};
  if (number % 10 == 0) {
    node.kind = SourceNodeKind::gpu;
    for (std::uint32_t index = 0; index < 4; ++index)
      node.gpus.push_back({.index = index, .type = "h100"});
  }
  return node;
}

SourceJob job(std::uint64_t id, ClusterTime end, std::uint32_t shift) {
  const auto half = static_cast<std::uint32_t>(id % 2);
  return {.id = id,
          .uid = 1000 + half,
          .partition = "batch",
          .state = SourceJobState::running,
          .start_time = 1'700'000'000,
          .end_time = end,
          .shares = {{.node = node_name(static_cast<std::uint32_t>(id % jobs / 2)),
                      .cores = cores_from(shift + half * cores_per_job, cores_per_job),
                      .memory = {64ULL << 30}}},
          .nodes_wanted = 1,
          .cores_wanted = cores_per_job};
}

SourceUpdate everything(std::uint64_t first_job, std::uint32_t shift) {
  constexpr ClusterTime end = 1'700'003'600;
  SourceUpdate update{.full = true, .time = 1'700'000'000};
  for (std::uint32_t number = 0; number < nodes; ++number) {
    update.nodes.push_back(node(number));
    update.forecasts.push_back({.node = node_name(number),
                                .windows = {{.until = end, .cores = 16, .memory = {128ULL << 30}},
                                            {.from = end, .cores = 64, .memory = {256ULL << 30}}}});
  }
  for (std::uint64_t id = first_job; id < first_job + jobs; ++id)
    update.jobs.push_back(job(id, end, shift));
  return update;
}

}  // namespace orchid::bench::large_cluster
