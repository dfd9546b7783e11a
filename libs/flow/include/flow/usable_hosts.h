// flow/usable_hosts.h: which hosts a node's calls may use. What is planned, decided or handed over
// for a node asks here, so that all of it goes by the hosts that the gateway would take.
#pragma once
#include <cstdint>
#include <vector>

#include "flow/document.h"
#include "flow/optimiser.h"

namespace orchid::flow {

/// Whether some hosts are out of the question. What `device` wants is no matter of the host.
[[nodiscard]] bool chooses_hosts(const Constraints& wanted);

/// A host whose cluster is not known is in none.
[[nodiscard]] bool may_use(const Constraints& wanted, const HostSituation& host);

/// Of `hosts`, in their order.
[[nodiscard]] std::vector<HostSituation> usable_hosts(const Constraints& wanted,
                                                      const std::vector<HostSituation>& hosts);

/// That nobody has now, on hosts that may be used.
[[nodiscard]] std::uint32_t free_cores(const Constraints& wanted,
                                       const std::vector<HostSituation>& hosts);

}  // namespace orchid::flow
