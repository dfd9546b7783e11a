// decision_log.h: the newest decisions and why they were taken so.
#pragma once
#include <vector>

#include "placement/explanation.h"

namespace orchid::placement {

/// A ring: decisions are numbered without gaps, from 1.
class DecisionLog {
 public:
  explicit DecisionLog(std::size_t capacity) : entries_(capacity) {}

  void add(Explanation explanation) {
    if (!entries_.empty())
      entries_[explanation.id.value() % entries_.size()] = std::move(explanation);
  }
  [[nodiscard]] const Explanation* find(DecisionId id) const {
    if (entries_.empty() || id.value() == 0) return nullptr;
    const Explanation& entry = entries_[id.value() % entries_.size()];
    return entry.id == id ? &entry : nullptr;
  }

 private:
  std::vector<Explanation> entries_;
};

}  // namespace orchid::placement
