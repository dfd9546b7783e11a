#include "flow/usable_hosts.h"

#include <algorithm>
#include <iterator>

namespace orchid::flow {

bool chooses_hosts(const Constraints& wanted) {
  return !wanted.kind.empty() || !wanted.cluster.empty();
}

bool may_use(const Constraints& wanted, const HostSituation& host) {
  return (wanted.kind.empty() || host.kind == wanted.kind) &&
         (wanted.cluster.empty() || host.cluster == wanted.cluster);
}

std::vector<HostSituation> usable_hosts(const Constraints& wanted,
                                        const std::vector<HostSituation>& hosts) {
  std::vector<HostSituation> usable;
  std::ranges::copy_if(hosts, std::back_inserter(usable),
                       [&](const HostSituation& host) { return may_use(wanted, host); });
  return usable;
}

std::uint32_t free_cores(const Constraints& wanted, const std::vector<HostSituation>& hosts) {
  std::uint32_t free = 0;
  for (const HostSituation& host : hosts)
    if (may_use(wanted, host)) free += host.cores_free;
  return free;
}

}  // namespace orchid::flow
