// situation.h: what a pilot controller has to know, from what the gateway and Slurm say.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "pilot/pilot_controller.h"
#include "pilot/slurm_commands.h"

namespace orchid::pilot {

/// Where pilots may go. Empty: anywhere.
struct PilotDestination {
  std::string cluster{};                  // what other sources tell of is not reached by pilots
  std::vector<std::string> partitions{};  // to any of them
};
/// `hosts`: what GET /v1/hosts says. Throws nlohmann's exceptions when it is not such a document.
[[nodiscard]] Situation situation_of(const nlohmann::json& hosts, const std::vector<PilotJob>& jobs,
                                     const PilotDestination& destination, MonotonicTime now);

}  // namespace orchid::pilot
