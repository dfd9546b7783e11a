// decision_log.h: decisions and why they were taken so: of all leases that are open, and the newest
// of those that are over or were never opened.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "placement/explanation.h"

namespace orchid::placement {

class DecisionLog {
 public:
  struct Limits {
    std::size_t open = 0;  // leases; beyond that they count as past
    std::size_t past = 0;
  };
  explicit DecisionLog(Limits limits) : limits_(limits) {}

  void add_open(Explanation explanation) {
    if (open_.size() >= limits_.open) return add_past(std::move(explanation));
    const DecisionId id = explanation.id;
    open_.insert_or_assign(id, std::move(explanation));
  }
  void add_past(Explanation explanation) {
    if (limits_.past == 0) return;
    if (past_.size() < limits_.past) {
      place_in_past_.emplace(explanation.id, past_.size());
      past_.push_back(std::move(explanation));
      return;
    }
    place_in_past_.erase(past_[oldest_].id);
    place_in_past_.emplace(explanation.id, oldest_);
    past_[oldest_] = std::move(explanation);
    oldest_ = (oldest_ + 1) % past_.size();
  }
  /// The lease is over.
  void close(DecisionId id) {
    if (auto closed = open_.extract(id); !closed.empty()) add_past(std::move(closed.mapped()));
  }
  [[nodiscard]] const Explanation* find(DecisionId id) const {
    if (const auto open = open_.find(id); open != open_.end()) return &open->second;
    const auto past = place_in_past_.find(id);
    return past == place_in_past_.end() ? nullptr : &past_[past->second];
  }

 private:
  Limits limits_;
  std::unordered_map<DecisionId, Explanation> open_;
  std::vector<Explanation> past_;  // a ring, when it is full
  std::size_t oldest_ = 0;
  std::unordered_map<DecisionId, std::size_t> place_in_past_;
};

}  // namespace orchid::placement
