#include "node_capacity.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "gres.h"

namespace orchid::slurm {
namespace {

bool holds(const auto& list, std::string_view value) {
  return std::ranges::find(list, value) != std::ranges::end(list);
}

/// A node with one of these starts nothing, or must not be given work by us.
constexpr std::array<std::string_view, 15> unusable_conditions{
    "down",         "unknown",
    "future",       "error",
    "drained",      "failing",
    "maintenance",  "reserved",
    "no_response",  "powering_down",
    "powered_down", "powering_up",
    "rebooting",    "invalid_registration",
    "power_drained"};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (comma != 0) words.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return words;
}

std::vector<SourceGpu> list_gpus(std::string_view gres) {
  std::vector<SourceGpu> gpus;
  for (const GpuCount& one : parse_gpus(gres))
    for (std::uint32_t i = 0; i < one.count; ++i)
      gpus.push_back({.index = static_cast<std::uint32_t>(gpus.size()), .type = one.type});
  return gpus;
}

void judge(SourceNode& node, const NodeRow& row, bool in_no_partition) {
  for (const std::string& condition : row.conditions)
    if (holds(unusable_conditions, condition)) node.why.push_back(condition);
  if (row.has_owner) node.why.emplace_back("exclusive_user");
  if (in_no_partition) node.why.emplace_back("no_partition");
  node.reason = row.reason;
  if (!node.why.empty()) {
    node.state = SourceNodeState::unusable;
  } else if (holds(row.conditions, "planned")) {
    node.state = SourceNodeState::planned;
    node.why.emplace_back("planned");
  }
}

/// The cores of these threads, or nothing when they are not whole cores of the node.
std::optional<CoreList> cores_of_threads(std::string_view threads, const SourceNode& node) {
  const auto list = parse_core_list(threads);
  if (!list) return std::nullopt;
  CoreList cores;
  for (const std::uint32_t thread : *list) {
    const std::uint32_t core = thread / node.threads_per_core;
    if (core >= node.cores()) return std::nullopt;
    if (cores.empty() || cores.back() != core) cores.push_back(core);
  }
  return cores;
}

void count_free_gpus(SourceNode& node, const NodeRow& row, const NodeUse& use) {
  if (node.gpus.empty()) return;
  CoreList all;
  for (const SourceGpu& gpu : node.gpus) all.push_back(gpu.index);
  const std::vector<GpuCount> told = parse_gpus(row.gres_used);
  const CoreList used = united(use.gpus, indices_of(told));
  const auto most =
      std::max<std::size_t>(used.size(), std::min<std::size_t>(count_of(told), all.size()));
  const CoreList left = without(all, used);
  node.gpus_free = static_cast<std::uint32_t>(all.size() - std::min(most, all.size()));
  if (left.size() == node.gpus_free) node.free_gpus = left;
}

}  // namespace

SourceNode describe_node(const NodeRow& row, std::optional<std::vector<std::string>> partitions,
                         const InventoryOptions& options) {
  SourceNode node;
  node.name = row.name;
  node.address = row.address;
  node.hostname = row.hostname;
  node.architecture = row.architecture;
  node.features = split(row.features);
  node.sockets = std::max(row.sockets, 1U);
  node.cores_per_socket = std::max(row.cores_per_socket, 1U);
  node.threads_per_core = std::max(row.threads_per_core, 1U);
  if (const auto reserved = cores_of_threads(row.reserved_cpus, node))
    node.reserved_cores = *reserved;
  const auto named = static_cast<std::uint32_t>(node.cores() - node.reserved_cores.size());
  node.cores_usable = std::min(named, row.cpus_effective / node.threads_per_core);
  node.memory = {(row.memory_mib - std::min(row.memory_mib, row.memory_reserved_mib)) << 20};
  node.gpus = list_gpus(row.gres);
  const bool is_dpu = std::ranges::any_of(node.features, [&](const std::string& feature) {
    return holds(options.dpu_features, feature);
  });
  node.kind = is_dpu              ? SourceNodeKind::dpu
              : node.gpus.empty() ? SourceNodeKind::cpu
                                  : SourceNodeKind::gpu;
  const bool in_no_partition = partitions && partitions->empty();
  if (partitions) node.partitions = std::move(*partitions);
  judge(node, row, in_no_partition);
  return node;
}

void count_free(SourceNode& node, const NodeRow& row, const NodeUse& use) {
  if (node.state == SourceNodeState::unusable) {
    node.free_cores.emplace();
    if (!node.gpus.empty()) node.free_gpus.emplace();
    return;
  }
  const std::uint32_t threads = node.threads_per_core;
  const std::uint32_t told = (row.cpus_allocated + threads - 1) / threads;
  const CoreList allocated = without(use.cores, node.reserved_cores);
  const CoreList taken = united(allocated, without(use.reserved_cores, node.reserved_cores));
  // Cores that are reserved and allocated count once; so hidden jobs are what exceeds `allocated`.
  const auto seen = static_cast<std::uint32_t>(allocated.size());
  const std::uint32_t hidden = told > seen ? told - seen : 0;
  const auto used = static_cast<std::uint32_t>(taken.size()) + hidden + use.nameless_cores;
  node.cores_free = node.cores_usable - std::min(node.cores_usable, used);
  node.hidden_cores = std::min(hidden, node.cores_usable - node.cores_free);
  CoreList left = without(without(first_numbers(node.cores()), node.reserved_cores), taken);
  // More are left than are free: jobs are hidden, or the numbers of reserved cores are not known.
  if (left.size() == node.cores_free) node.free_cores = std::move(left);
  const std::uint64_t memory = std::max(row.memory_allocated_mib << 20, use.memory.value);
  node.memory_free = {node.memory.value - std::min(node.memory.value, memory)};
  count_free_gpus(node, row, use);
}

}  // namespace orchid::slurm
