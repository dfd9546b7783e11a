// small_cluster.h: hosts and grants for the tests of placement, a line each.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "placement/placement.h"

namespace orchid::placement::tests {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MonotonicTime start{seconds(1'000)};
constexpr TenantId alice{1000};
constexpr TenantId bob{1001};

/// `cores` cores over `nodes` NUMA nodes, 64 GiB.
inline Host host_named(const std::string& name, std::uint32_t cores, std::uint32_t nodes = 1) {
  Host host{.id = HostId("boot-" + name),
            .name = name,
            .architecture = "x86_64",
            .features = {},
            .cores = {},
            .memory = 64_GiB,
            .gpus = {}};
  for (std::uint32_t core = 0; core < cores; ++core)
    host.cores.push_back({.number = core, .numa_node = core * nodes / cores});
  return host;
}

inline Host with_gpus(Host host, std::uint32_t count, const std::string& model) {
  host.kind = HostKind::gpu;
  for (std::uint32_t index = 0; index < count; ++index)
    host.gpus.push_back({.index = index, .model = model, .numa_node = 0});
  return host;
}

/// All of the host's cores, memory and GPUs, without an end, for everybody.
inline Grant whole(const Host& host, const std::string& id) {
  Grant grant{.id = GrantId(id),
              .host = host.id,
              .source = SourceId("local"),
              .owner = alice,
              .cores = {},
              .memory = host.memory,
              .gpus = {},
              .job = {}};
  for (const Core& core : host.cores) grant.cores.insert(core.number);
  for (const Gpu& gpu : host.gpus) grant.gpus.insert(gpu.index);
  return grant;
}

/// A placement with a host for each, and all of each granted as "g-NAME".
class SmallCluster {
 public:
  explicit SmallCluster(const std::vector<Host>& hosts,
                        std::unique_ptr<Policy> policy = make_pack_policy())
      : placement(std::move(policy)) {
    for (const Host& host : hosts) add(host);
  }
  void add(const Host& host) {
    REQUIRE(placement.put_host(host, start).has_value());
    REQUIRE(placement.put_grant(whole(host, "g-" + host.name), start).has_value());
  }
  /// The name of the host on which a worker of so many cores is placed; empty: refused.
  std::string place(std::uint32_t cores, TenantId tenant = alice) {
    return place({.tenant = tenant, .worker = {.alternatives = {{.cores = cores}}}});
  }
  std::string place(const Request& request) {
    last = placement.open(request, start);
    return last.placed() ? placement.host(last.places[0].host)->host.name : std::string();
  }
  Placement placement;
  Decision last;
};

}  // namespace orchid::placement::tests
