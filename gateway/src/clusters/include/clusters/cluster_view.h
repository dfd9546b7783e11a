// clusters/cluster_view.h: what capacity sources say of the hosts that executors run on. Plain
// functions over plain data.
#pragma once
#include <string>
#include <vector>

#include "hosts/host_book.h"
#include "placement/grant.h"
#include "protocol/source_inventory.h"

namespace orchid::gateway {

/// A cluster's inventory as executors' hosts see it: two references, made when they are needed.
class ClusterView {
 public:
  ClusterView(const std::string& cluster, const SourceInventory& inventory)
      : cluster_(cluster), inventory_(inventory) {}

  /// The node that these executors' host is, by what they or their host are called. Null: it is not
  /// of this cluster, or its name fits several nodes.
  [[nodiscard]] const SourceNode* node_of(const std::vector<const Executor*>& executors) const;
  /// What the batch system gave to whom on this node. Cores of a job that granted some are those
  /// that its executor names; those of other jobs follow from the order of the machine's threads
  /// that the executors tell. Of jobs that are hidden nobody says which cores they have: job 0 has
  /// all that no executor was granted.
  [[nodiscard]] placement::HostAllocation allocation_of(
      const SourceNode& node, const std::vector<const Executor*>& executors) const;

 private:
  const std::string& cluster_;
  const SourceInventory& inventory_;
};

}  // namespace orchid::gateway
