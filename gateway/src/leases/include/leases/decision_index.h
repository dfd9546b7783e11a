// leases/decision_index.h: which decisions of the placement concern which lease.
#pragma once
#include <cstddef>
#include <map>
#include <vector>

#include "placement/placement.h"
#include "placement/request.h"
#include "protocol/lease_id.h"

namespace orchid::gateway {

/// Owned by the control thread. Knows at least what the placement remembers, and not much more: a
/// look at all of them, as often as their number has doubled, takes out what that has forgotten.
class DecisionIndex {
 public:
  void note(LeaseId lease, placement::DecisionId decision, const placement::Placement& placement) {
    if (noted_ >= look_at_) forget_what_is_forgotten(placement);
    by_lease_[lease].push_back(decision);
    ++noted_;
  }
  void forget(LeaseId lease) {
    const auto found = by_lease_.find(lease);
    if (found == by_lease_.end()) return;
    noted_ -= found->second.size();
    by_lease_.erase(found);
  }
  /// The oldest first.
  [[nodiscard]] std::vector<placement::DecisionId> find(LeaseId lease) const {
    const auto found = by_lease_.find(lease);
    return found == by_lease_.end() ? std::vector<placement::DecisionId>{} : found->second;
  }
  [[nodiscard]] std::size_t size() const { return noted_; }

 private:
  static constexpr std::size_t least_look = 8192;

  void forget_what_is_forgotten(const placement::Placement& placement) {
    noted_ = 0;
    for (auto& [lease, decisions] : by_lease_) {
      std::erase_if(decisions, [&](placement::DecisionId id) { return !placement.remembers(id); });
      noted_ += decisions.size();
    }
    std::erase_if(by_lease_, [](const auto& entry) { return entry.second.empty(); });
    look_at_ = 2 * noted_ + least_look;
  }

  std::map<LeaseId, std::vector<placement::DecisionId>> by_lease_;
  std::size_t noted_ = 0;
  std::size_t look_at_ = least_look;
};

}  // namespace orchid::gateway
