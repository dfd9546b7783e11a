#include "flow/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "flow/usable_hosts.h"
#include "foundation/units.h"

namespace orchid::flow {
namespace {

bool is_at(const ObjectSituation& object, std::string_view host) {
  return std::ranges::find(object.hosts, host) != object.hosts.end();
}

/// What is known of a host that only its data is known of: a free core, and no more.
std::vector<HostSituation> candidates(const CallWithData& call,
                                      const std::vector<HostSituation>& hosts) {
  std::vector<HostSituation> all = usable_hosts(call.constraints, hosts);
  if (chooses_hosts(call.constraints)) return all;  // it may be none that the call may use
  for (const ObjectSituation& object : call.data)
    for (const std::string& name : object.hosts) {
      const bool is_known = std::ranges::find(hosts, name, &HostSituation::name) != hosts.end();
      const bool is_there = std::ranges::find(all, name, &HostSituation::name) != all.end();
      if (!is_known && !is_there)
        all.push_back({.name = name, .kind = {}, .cores = 1, .cores_free = 1});
    }
  return all;
}

}  // namespace

FirstEnd first_end_of(const CallWithData& call, const std::vector<HostSituation>& hosts) {
  FirstEnd best;
  double best_end = 0;
  if (call.data.empty()) return best;
  for (const HostSituation& host : candidates(call, hosts)) {
    FirstEnd one{.host = host.name};
    for (const ObjectSituation& object : call.data)
      (is_at(object, host.name) ? one.there : one.missing) += object.bytes;
    one.transfer_seconds = static_cast<double>(one.missing) / usual_bytes_per_second;
    const double run = call.run_seconds / std::max(host.speed, 1e-3);
    const double end = one.transfer_seconds + run + (host.cores_free == 0 ? run : 0);
    if (!best.host.empty() && (best_end < end || (best_end <= end && one.there <= best.there)))
      continue;
    best = std::move(one);
    best_end = end;
  }
  return best;
}

std::string to_text(const FirstEnd& end) {
  if (end.host.empty()) return {};
  if (end.missing == 0)
    return fmt::format("its {} are on {}", to_string(ByteCount{end.there}), end.host);
  const std::string there =
      end.there == 0 ? "" : fmt::format(", which has {}", to_string(ByteCount{end.there}));
  return fmt::format("{:.3g} s until {} are on {}{}", end.transfer_seconds,
                     to_string(ByteCount{end.missing}), end.host, there);
}

}  // namespace orchid::flow
