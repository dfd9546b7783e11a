// flow/own_share.h: hosts are looked at again while a flow runs, and some of what is taken there is
// its own by then.
#pragma once
#include <cstdint>
#include <vector>

#include "flow/optimiser.h"

namespace orchid::flow {

/// What the flow's calls have now.
struct OwnPlaces {
  std::uint32_t cores = 0;
  std::uint32_t gpus = 0;
};
/// The hosts as a later look has found them, with what is the flow's own counted as free: of what
/// has been taken since the first look, on each host as large a part. A host that was not there
/// then is as it was found.
[[nodiscard]] std::vector<HostSituation> with_own_share(const std::vector<HostSituation>& first,
                                                        std::vector<HostSituation> now,
                                                        const OwnPlaces& places);

}  // namespace orchid::flow
