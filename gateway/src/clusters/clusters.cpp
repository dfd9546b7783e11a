#include "clusters/clusters.h"

#include <utility>

namespace orchid::gateway {
namespace {

placement::HostKind host_kind_of(SourceNodeKind kind) {
  switch (kind) {
    case SourceNodeKind::cpu:
      return placement::HostKind::cpu;
    case SourceNodeKind::gpu:
      return placement::HostKind::gpu;
    case SourceNodeKind::dpu:
      return placement::HostKind::dpu;
  }
  return placement::HostKind::cpu;
}

}  // namespace

HostFacts facts_of_node(const SourceNode& node, placement::HostAllocation allocation) {
  HostFacts facts{.kind = host_kind_of(node.kind),
                  .cluster = {},
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
                   std::function<void(const TouchedNodes&)> changed) {
  for (const CapacitySource::Options& options : sources)
    sources_.push_back(std::make_unique<CapacitySource>(control, clock, options, changed));
}

void Clusters::start() {
  for (const auto& source : sources_) source->start();
}

void Clusters::stop() {
  for (const auto& source : sources_) source->stop();
}

std::optional<HostFacts> Clusters::facts_of(const std::vector<const Executor*>& executors) const {
  for (const auto& source : sources_) {
    const ClusterView view(source->state().hello.cluster, source->state().inventory);
    if (const SourceNode* node = view.node_of(executors)) {
      HostFacts facts = facts_of_node(*node, view.allocation_of(*node, executors));
      facts.cluster = source->state().hello.cluster;
      return facts;
    }
  }
  return std::nullopt;
}

std::optional<std::set<std::string>> Clusters::cluster_names() const {
  std::set<std::string> names;
  for (const auto& source : sources_) {
    if (source->state().hello.cluster.empty()) return std::nullopt;  // it has not spoken yet
    names.insert(source->state().hello.cluster);
  }
  return names;
}

std::vector<const ClusterState*> Clusters::states() const {
  std::vector<const ClusterState*> states;
  for (const auto& source : sources_) states.push_back(&source->state());
  return states;
}

}  // namespace orchid::gateway
