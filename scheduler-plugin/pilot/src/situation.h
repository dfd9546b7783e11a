// situation.h: what a pilot controller has to know, from what the gateway and Slurm say.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/clock.h"
#include "foundation/json_document.h"
#include "foundation/result.h"
#include "pilot/pilot_controller.h"
#include "pilot/slurm_commands.h"

namespace orchid::pilot {

/// Where pilots may go. Empty: anywhere.
struct PilotDestination {
  std::string cluster{};                  // what other sources tell of is not reached by pilots
  std::vector<std::string> partitions{};  // to any of them
};
/// Of what GET /v1/demand says.
[[nodiscard]] std::uint64_t cores_wanted(const JsonObject& demand);
/// `hosts`: what GET /v1/hosts says. Errors: `bad_request` when it is not such a document.
[[nodiscard]] Result<Situation> situation_of(std::string_view hosts,
                                             const std::vector<PilotJob>& jobs,
                                             const PilotDestination& destination,
                                             MonotonicTime now);

}  // namespace orchid::pilot
