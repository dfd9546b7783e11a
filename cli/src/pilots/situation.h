// pilots/situation.h: what a pilot controller has to know, from what the gateway and Slurm say.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "pilot/pilot_controller.h"
#include "pilot/slurm_commands.h"

namespace orchid::cli {

/// `hosts`: what GET /v1/hosts says. `partition`: only its nodes have holes; empty: all. Throws
/// nlohmann's exceptions when `hosts` is not such a document.
[[nodiscard]] pilot::Situation situation_of(const nlohmann::json& hosts,
                                            const std::vector<pilot::PilotJob>& jobs,
                                            const std::string& partition, MonotonicTime now);

}  // namespace orchid::cli
