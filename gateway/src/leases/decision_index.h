// leases/decision_index.h: which decisions of the placement concern which lease.
#pragma once
#include <cstddef>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "placement/request.h"
#include "protocol/lease_id.h"

namespace orchid::gateway {

/// Owned by the control thread. The newest `most` are remembered, as the placement does with what
/// it decided.
class DecisionIndex {
 public:
  static constexpr std::size_t most = 4096;

  void note(LeaseId lease, placement::DecisionId decision) {
    if (order_.size() == most) {
      const auto [oldest, first] = order_.front();
      order_.pop_front();
      const auto found = by_lease_.find(oldest);
      std::erase(found->second, first);
      if (found->second.empty()) by_lease_.erase(found);
    }
    order_.emplace_back(lease, decision);
    by_lease_[lease].push_back(decision);
  }
  void forget(LeaseId lease) {
    if (by_lease_.erase(lease) > 0)
      std::erase_if(order_, [lease](const auto& known) { return known.first == lease; });
  }
  /// The oldest first.
  [[nodiscard]] std::vector<placement::DecisionId> find(LeaseId lease) const {
    const auto found = by_lease_.find(lease);
    return found == by_lease_.end() ? std::vector<placement::DecisionId>{} : found->second;
  }

 private:
  std::deque<std::pair<LeaseId, placement::DecisionId>> order_;
  std::map<LeaseId, std::vector<placement::DecisionId>> by_lease_;
};

}  // namespace orchid::gateway
