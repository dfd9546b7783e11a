#include "topology/host.h"

#include <hwloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "foundation/files.h"
#include "topology/cgroup_limits.h"

namespace orchid::executor {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct BitmapDeleter {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

std::string read_line(const std::filesystem::path& path) {
  const auto content = read_file(path, 64_KiB);
  if (!content) return {};
  std::string text(as_text(*content));
  return text.substr(0, text.find('\n'));
}

void read_threads(hwloc_topology_t topology, HostResources& host) {
  for (hwloc_obj_t thread = nullptr;
       (thread = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, thread)) != nullptr;) {
    host.thread_order.push_back(thread->os_index);
    const int node = hwloc_bitmap_first(thread->nodeset);
    host.thread_numa_nodes.push_back(node < 0 ? 0 : static_cast<std::uint32_t>(node));
  }
}

/// No processor has more of its last level for a core (EPYC 7373X: 768 MiB for 16). Virtual
/// machines are told the whole socket's cache, and of its cores only their own: 480 MiB for two.
constexpr ByteCount most_cache_per_core = 48_MiB;

/// The smallest part among the caches of the machine, by all cores below a cache, whoever uses
/// them.
ByteCount cache_per_core(hwloc_topology_t topology) {
  ByteCount least;
  hwloc_obj_t cache = nullptr;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    while ((cache = hwloc_get_next_obj_by_type(topology, type, cache)) != nullptr) {
      const int sharing = hwloc_bitmap_weight(cache->complete_cpuset);
      if (sharing <= 0) continue;
      const ByteCount part =
          std::min(most_cache_per_core,
                   ByteCount{cache->attr->cache.size / static_cast<std::uint64_t>(sharing)});
      if (least.value == 0 || part < least) least = part;
    }
    if (least.value != 0) return least;
  }
  return least;
}

}  // namespace

Result<HostResources> discover_host() {
  hwloc_topology* raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(ErrorCode::system, "hwloc_topology_init");
  const Topology topology(raw);
  // Batch systems number the whole machine, whatever part of it is ours.
  if (hwloc_topology_set_flags(topology.get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
      hwloc_topology_load(topology.get()) != 0)
    return fail(ErrorCode::system, "hwloc cannot read this machine's topology");
  // hwloc's allowed set is the cpuset; the affinity mask of this thread may be narrower.
  const Bitmap usable(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology.get(), usable.get(), HWLOC_CPUBIND_THREAD) != 0)
    hwloc_bitmap_fill(usable.get());
  hwloc_bitmap_and(usable.get(), usable.get(), hwloc_topology_get_allowed_cpuset(topology.get()));
  HostResources host;
  for (int core = hwloc_bitmap_first(usable.get()); core >= 0;
       core = hwloc_bitmap_next(usable.get(), core))
    host.cores.push_back(static_cast<std::uint32_t>(core));
  if (host.cores.empty()) return fail(ErrorCode::unsupported, "this process may not use any core");
  read_threads(topology.get(), host);
  const CgroupLimits limits = read_cgroup_limits();
  if (limits.cores)
    host.cores.resize(
        std::clamp<std::size_t>(static_cast<std::size_t>(*limits.cores), 1, host.cores.size()));
  // Not hwloc's sum over NUMA nodes, which misses memory that was added to a running machine.
  const auto installed = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  host.memory = std::min(ByteCount{installed}, limits.memory.value_or(ByteCount{installed}));
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PACKAGE, 0);
  const char* model =
      package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
  host.cpu_model = model == nullptr ? "" : model;
  host.cache_per_core = cache_per_core(topology.get());
  utsname names{};
  ::uname(&names);
  host.hostname = names.nodename;  // no resolver: a name that does not resolve is still a name
  host.architecture = names.machine;
  host.boot_id = read_line("/proc/sys/kernel/random/boot_id");
  return host;
}

}  // namespace orchid::executor
