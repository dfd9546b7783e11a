#include "clusters/clusters.h"

#include <utility>

namespace orchid::gateway {

HostFacts facts_of_node(const SourceNode& node, placement::HostAllocation allocation) {
  HostFacts facts{.kind = parse_host_kind(to_string(node.kind)).value_or(placement::HostKind::cpu),
                  .features = node.features,
                  .gpus = {},
                  .allocation = std::move(allocation)};
  for (const SourceGpu& gpu : node.gpus)
    if (gpu.index < placement::CoreSet::limit)
      facts.gpus.push_back({.index = gpu.index, .model = gpu.type});
  return facts;
}

Clusters::Clusters(boost::asio::io_context& control, const Clock& clock,
                   const std::vector<CapacitySource::Options>& sources,
                   std::function<void()> changed)
    : changed_(std::move(changed)) {
  for (const CapacitySource::Options& options : sources) {
    const std::size_t index = clusters_.size();
    clusters_.push_back({.source = std::make_unique<CapacitySource>(
                             control, clock, options, [this, index] { updated(index); }),
                         .view = std::nullopt});
  }
}

void Clusters::start() {
  for (const Cluster& cluster : clusters_) cluster.source->start();
}

void Clusters::stop() {
  for (const Cluster& cluster : clusters_) cluster.source->stop();
}

void Clusters::updated(std::size_t index) {
  const ClusterState& state = clusters_[index].source->state();
  clusters_[index].view.emplace(state.hello.cluster, state.inventory);
  changed_();
}

std::optional<HostFacts> Clusters::facts_of(const std::vector<const Executor*>& executors) const {
  for (const Cluster& cluster : clusters_) {
    if (!cluster.view) continue;
    if (const SourceNode* node = cluster.view->node_of(executors))
      return facts_of_node(*node, cluster.view->allocation_of(*node, executors));
  }
  return std::nullopt;
}

std::vector<const ClusterState*> Clusters::states() const {
  std::vector<const ClusterState*> states;
  for (const Cluster& cluster : clusters_) states.push_back(&cluster.source->state());
  return states;
}

}  // namespace orchid::gateway
