#include "core_choice.h"

#include <algorithm>

namespace orchid::placement {
namespace {

/// The GPUs of one NUMA node together if there are enough; the node with the fewest that do. Those
/// of which nobody knows where they are count as on one node of their own.
CoreSet choose_gpus(const HostEntry& host, const CoreSet& free, std::uint32_t count) {
  std::vector<CoreSet> by_node(1);
  for (const Gpu& gpu : host.description.gpus) {
    if (!free.contains(gpu.index)) continue;
    const std::size_t node = gpu.numa_node ? std::min(*gpu.numa_node, CoreSet::limit) + 1U : 0;
    if (node >= by_node.size()) by_node.resize(node + 1);
    by_node[node].insert(gpu.index);
  }
  const CoreSet* best = nullptr;
  for (const CoreSet& node : by_node)
    if (node.size() >= count && (best == nullptr || node.size() < best->size())) best = &node;
  return (best == nullptr ? free : *best).lowest(count);
}

/// The NUMA nodes of these GPUs, as far as they are known.
CoreSet nodes_of(const HostEntry& host, const CoreSet& gpus) {
  CoreSet nodes;
  for (const Gpu& gpu : host.description.gpus)
    if (gpus.contains(gpu.index) && gpu.numa_node && *gpu.numa_node < CoreSet::limit)
      nodes.insert(*gpu.numa_node);
  return nodes;
}

/// From one node, from one of `preferred` if it can be, the one with the fewest that do; else from
/// those with the most, so that few are touched.
CoreSet choose_from_nodes(const HostEntry& host, const CoreSet& free, std::uint32_t count,
                          const CoreSet& preferred) {
  struct Node {
    bool preferred;
    std::uint32_t size;
    CoreSet cores;
  };
  std::vector<Node> nodes;
  for (std::uint32_t node = 0; node < host.numa_cores.size(); ++node) {
    CoreSet cores = host.numa_cores[node] & free;
    if (const std::uint32_t size = cores.size(); size > 0)
      nodes.push_back({preferred.contains(node), size, std::move(cores)});
  }
  const Node* best = nullptr;
  for (const Node& node : nodes) {
    if (node.size < count) continue;
    if (best == nullptr ||
        std::pair(!node.preferred, node.size) < std::pair(!best->preferred, best->size))
      best = &node;
  }
  if (best != nullptr) return best->cores.lowest(count);
  std::ranges::stable_sort(nodes, [](const Node& left, const Node& right) {
    return std::pair(left.preferred, left.size) > std::pair(right.preferred, right.size);
  });
  CoreSet chosen;
  for (const Node& node : nodes) {
    const std::uint32_t more = std::min(count, node.size);
    chosen |= node.cores.lowest(more);
    count -= more;
  }
  return chosen;
}

}  // namespace

WorkerEntry choose_cores(const Book& book, SlotNumber number, const Needs& needs) {
  const Slot& slot = book.slot(number);
  const HostEntry& host = book.host(slot.host);
  WorkerEntry worker{.slot = number, .cores = {}, .gpus = {}, .memory = needs.memory};
  if (needs.gpus > 0)
    worker.gpus = choose_gpus(
        host, needs.model ? book.gpus_of_model(slot, *needs.model) : slot.free_gpus, needs.gpus);
  if (host.numa_cores.size() <= 1)
    worker.cores = slot.free.lowest(needs.cores);
  else
    worker.cores = choose_from_nodes(host, slot.free, needs.cores, nodes_of(host, worker.gpus));
  return worker;
}

}  // namespace orchid::placement
