// decision_log.h: the newest decisions and why they were taken so.
#pragma once
#include <vector>

#include "placement/explanation.h"

namespace orchid::placement {

/// A ring: decisions are numbered without gaps, from 1.
class DecisionLog {
 public:
  explicit DecisionLog(std::size_t capacity) : capacity_(capacity) {}

  void add(Explanation explanation) {
    if (capacity_ == 0) return;
    const std::size_t place = explanation.id.value() % capacity_;
    if (place >= entries_.size()) entries_.resize(place + 1);
    entries_[place] = std::move(explanation);
  }
  [[nodiscard]] const Explanation* find(DecisionId id) const {
    if (capacity_ == 0 || id.value() == 0) return nullptr;
    const std::size_t place = id.value() % capacity_;
    if (place >= entries_.size()) return nullptr;
    const Explanation& entry = entries_[place];
    return entry.id == id ? &entry : nullptr;
  }

 private:
  std::size_t capacity_;
  std::vector<Explanation> entries_;  // grows to the capacity
};

}  // namespace orchid::placement
