// supervisor/pilot_owner.h: the gateway whose pilots are meant: the one that is reached from here,
// or that has a state directory.
#pragma once
#include <string>

#include "foundation/result.h"
#include "pilot/pilot_owner.h"

namespace orchid::cli {

/// `state`: the folder of `orchid up --state`, or a gateway's own; empty: that of the gateway which
/// `gateway` or the environment names, or of the one that is found from here. Errors:
/// `bad_configuration`, `not_found` (a gateway that runs elsewhere, a folder that is none's),
/// `denied`, `system`.
[[nodiscard]] Result<pilot::PilotOwner> find_pilot_owner(const std::string& gateway,
                                                         const std::string& state = {});

}  // namespace orchid::cli
