// clusters/clusters.h: the capacity sources, and what they know of our executors' hosts.
#pragma once
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "clusters/capacity_source.h"
#include "clusters/cluster_view.h"
#include "hosts/capacity.h"

namespace orchid::gateway {

/// Owned by the control thread, whose io_context it is given.
class Clusters final : public HostKnowledge {
 public:
  /// `changed` is called after each complete update of a source.
  Clusters(boost::asio::io_context& control, const Clock& clock,
           const std::vector<CapacitySource::Options>& sources,
           std::function<void(const TouchedNodes&)> changed);

  void start();
  void stop();
  [[nodiscard]] std::optional<HostFacts> facts_of(
      const std::vector<const Executor*>& executors) const override;
  [[nodiscard]] std::optional<std::set<std::string>> cluster_names() const override;
  [[nodiscard]] std::vector<const ClusterState*> states() const;

 private:
  std::vector<std::unique_ptr<CapacitySource>> sources_;
};

/// What one node of a cluster is like, for placement.
[[nodiscard]] HostFacts facts_of_node(const SourceNode& node, placement::HostAllocation allocation);

}  // namespace orchid::gateway
