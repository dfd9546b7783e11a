#include "topology/host.h"

#include <hwloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "foundation/files.h"

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

/// The smallest memory limit of this process's cgroup, v2 or v1; nothing when there is none.
std::uint64_t memory_limit() {
  std::uint64_t limit = ~std::uint64_t{0};
  const auto membership = read_file("/proc/self/cgroup", 64_KiB);
  if (!membership) return limit;
  std::string text(as_text(*membership));
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    start = end + 1;
    const std::size_t colon = line.rfind(':');
    if (colon == std::string::npos) continue;
    const std::string path = line.substr(colon + 1);
    std::string file;
    if (line.starts_with("0::")) file = "/sys/fs/cgroup" + path + "/memory.max";
    if (line.find(":memory:") != std::string::npos)
      file = "/sys/fs/cgroup/memory" + path + "/memory.limit_in_bytes";
    const std::string value = file.empty() ? "" : read_line(file);
    std::uint64_t bytes = 0;
    if (std::from_chars(value.data(), value.data() + value.size(), bytes).ec == std::errc{} &&
        bytes != 0)
      limit = std::min(limit, bytes);
  }
  return limit;
}

}  // namespace

Result<HostResources> discover_host() {
  hwloc_topology* raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(ErrorCode::system, "hwloc_topology_init");
  const Topology topology(raw);
  if (hwloc_topology_load(topology.get()) != 0)
    return fail(ErrorCode::system, "hwloc cannot read this machine's topology");
  // hwloc's allowed set is the cpuset; the affinity mask may be narrower.
  const Bitmap usable(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology.get(), usable.get(), HWLOC_CPUBIND_PROCESS) != 0)
    hwloc_bitmap_fill(usable.get());
  hwloc_bitmap_and(usable.get(), usable.get(), hwloc_topology_get_allowed_cpuset(topology.get()));
  HostResources host;
  for (int core = hwloc_bitmap_first(usable.get()); core >= 0;
       core = hwloc_bitmap_next(usable.get(), core))
    host.cores.push_back(static_cast<std::uint32_t>(core));
  if (host.cores.empty()) return fail(ErrorCode::unsupported, "this process may not use any core");
  // Not hwloc's sum over NUMA nodes, which misses memory that was added to a running machine.
  const auto installed = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  host.memory = ByteCount{std::min(installed, memory_limit())};
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PACKAGE, 0);
  const char* model =
      package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
  host.cpu_model = model == nullptr ? "" : model;
  utsname names{};
  ::uname(&names);
  host.hostname = names.nodename;  // no resolver: a name that does not resolve is still a name
  host.architecture = names.machine;
  host.boot_id = read_line("/proc/sys/kernel/random/boot_id");
  return host;
}

}  // namespace orchid::executor
