// call_slots.h: how many calls with a deadline may be handed over: no more than there are cores for
// where they may run.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "flow/document.h"
#include "flow/optimiser.h"

namespace orchid::flow {

/// Whoever owns it guards it. Of constraints, kind and cluster count.
class CallSlots {
 public:
  /// One that runs in each place is always allowed: what asks for nothing is given no worker.
  [[nodiscard]] bool has_room(const Constraints& where);
  void begin(const Constraints& where);
  void end(const Constraints& where);

  using Counts = std::map<Constraints, std::uint32_t>;
  /// Calls that run now: what they have is not free.
  [[nodiscard]] const Counts& running() const { return running_; }
  /// Hosts, as they were after `before` was taken of `running()`.
  void see(std::vector<HostSituation> hosts, const Counts& before);

 private:
  [[nodiscard]] std::uint32_t slots(const Constraints& where);

  Counts running_;
  std::uint32_t all_running_ = 0;
  std::vector<HostSituation> hosts_;
  Counts had_;   // of those that run, those that had their cores when hosts were seen
  Counts free_;  // of `hosts_`, as far as it was asked for
};

}  // namespace orchid::flow
