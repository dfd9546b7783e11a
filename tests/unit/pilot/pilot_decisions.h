// pilot_decisions.h: demand, and what a controller has decided, for the tests of it.
#pragma once
#include <vector>

#include "pilot/pilot_controller.h"

namespace orchid::pilot {

/// So many workers of one core.
inline std::vector<WorkerDemand> one_core(std::uint32_t workers) {
  if (workers == 0) return {};
  return {{.workers = workers}};
}

inline std::vector<SubmitPilot> submissions(const std::vector<PilotAction>& actions) {
  std::vector<SubmitPilot> found;
  for (const PilotAction& action : actions)
    if (const auto* submit = std::get_if<SubmitPilot>(&action)) found.push_back(*submit);
  return found;
}

inline std::vector<std::uint64_t> cancelled(const std::vector<PilotAction>& actions) {
  std::vector<std::uint64_t> found;
  for (const PilotAction& action : actions)
    if (const auto* cancel = std::get_if<CancelPilot>(&action)) found.push_back(cancel->job);
  return found;
}

}  // namespace orchid::pilot
