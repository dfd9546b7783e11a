// data/tenant_turns.h: work that waits for one worker, which turns to one tenant after the other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace orchid::executor {

/// Owned by one thread. Who has queued much waits for itself: each other tenant has a turn between
/// two of its pieces of work. How much may wait is for those who add it to know.
template <typename Work>
class TenantTurns {
 public:
  void add_last(std::uint32_t tenant, Work work) { waiting_[tenant].push_back(std::move(work)); }
  /// Before what the tenant has there already.
  void add_first(std::uint32_t tenant, Work work) { waiting_[tenant].push_front(std::move(work)); }
  /// Of the tenant after the one that had the last turn.
  [[nodiscard]] std::optional<Work> next() {
    if (waiting_.empty()) return std::nullopt;
    auto turn = waiting_.upper_bound(last_);
    if (turn == waiting_.end()) turn = waiting_.begin();
    last_ = turn->first;
    Work work = std::move(turn->second.front());
    turn->second.pop_front();
    if (turn->second.empty()) waiting_.erase(turn);
    return work;
  }
  /// The first of that tenant's which is so, taken out.
  template <typename Which>
  [[nodiscard]] std::optional<Work> take_out(std::uint32_t tenant, Which which) {
    const auto own = waiting_.find(tenant);
    if (own == waiting_.end()) return std::nullopt;
    for (auto one = own->second.begin(); one != own->second.end(); ++one) {
      if (!which(*one)) continue;
      Work work = std::move(*one);
      own->second.erase(one);
      if (own->second.empty()) waiting_.erase(own);
      return work;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

 private:
  std::map<std::uint32_t, std::deque<Work>> waiting_;  // by uid; none is empty
  std::uint32_t last_ = 0;                             // who had the last turn
};

}  // namespace orchid::executor
