// lanes/failed_loads.h: modules that could not be loaded, with the reason, for a while: whoever
// tries again hears the same, and costs no worker.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "foundation/clock.h"
#include "foundation/result.h"

namespace orchid::executor {

/// By digest, so another version of a function is another module. Pure; owned by the agent's
/// thread.
class FailedLoads {
 public:
  static constexpr std::chrono::seconds remembered_for{60};
  static constexpr std::size_t most = 1024;  // the oldest go first

  void remember(const std::string& module, Failure why, MonotonicTime now) {
    forget_old(now);
    if (known_.size() >= most && !known_.contains(module))
      known_.erase(std::ranges::min_element(known_, {},
                                            [](const auto& entry) { return entry.second.until; }));
    known_[module] = {std::move(why), now + remembered_for};
  }
  /// Null: nothing is known against it. Valid until the next `remember`.
  [[nodiscard]] const Failure* find(const std::string& module, MonotonicTime now) const {
    const auto found = known_.find(module);
    return found == known_.end() || found->second.until <= now ? nullptr : &found->second.why;
  }

 private:
  struct Known {
    Failure why;
    MonotonicTime until;
  };
  void forget_old(MonotonicTime now) {
    std::erase_if(known_, [now](const auto& entry) { return entry.second.until <= now; });
  }
  std::map<std::string, Known> known_;
};

}  // namespace orchid::executor
