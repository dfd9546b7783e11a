#include "flow/own_share.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace orchid::flow {
namespace {

/// What has been taken since, and as much of it as is ours: others may have come as well.
struct Share {
  std::uint64_t taken = 0;
  std::uint64_t own = 0;
  [[nodiscard]] std::uint32_t of(std::uint32_t part) const {
    if (taken == 0) return 0;
    return static_cast<std::uint32_t>(std::uint64_t{part} * std::min(own, taken) / taken);
  }
};

std::uint32_t fewer(std::uint32_t before, std::uint32_t now) {
  return before - std::min(before, now);
}

const HostSituation* first_look_at(const std::vector<HostSituation>& first,
                                   const HostSituation& host) {
  const auto found = std::ranges::find(first, host.name, &HostSituation::name);
  return found == first.end() ? nullptr : &*found;
}

}  // namespace

std::vector<HostSituation> with_own_share(const std::vector<HostSituation>& first,
                                          std::vector<HostSituation> now, const OwnPlaces& places) {
  Share cores{.own = places.cores};
  Share gpus{.own = places.gpus};
  for (const HostSituation& host : now)
    if (const HostSituation* before = first_look_at(first, host); before != nullptr) {
      cores.taken += fewer(before->cores_free, host.cores_free);
      gpus.taken += fewer(before->gpus_free, host.gpus_free);
    }
  for (HostSituation& host : now)
    if (const HostSituation* before = first_look_at(first, host); before != nullptr) {
      host.cores_own = cores.of(fewer(before->cores_free, host.cores_free));
      host.cores_free += host.cores_own;
      host.gpus_free += gpus.of(fewer(before->gpus_free, host.gpus_free));
    }
  return now;
}

}  // namespace orchid::flow
