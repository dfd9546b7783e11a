// reports/host_report.h: the hosts of executors, as GET /v1/hosts says them.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "hosts/capacity.h"
#include "hosts/host_book.h"
#include "leases/lease_book.h"

namespace orchid::gateway {

/// What GET /v1/hosts is asked for.
struct HostsAsked {
  uid_t viewer = 0;
  std::optional<std::uint64_t> job;  // executors of this batch job alone, and nothing of clusters
};

/// Who asks.
struct HostViewer {
  uid_t uid = 0;
  bool sees_all = true;  // also whose the grants of others are, and of which jobs
};

/// [{"boot_id", "name" (for constraints), "hostname", "architecture", "cpu", "cluster", "kind",
/// "features", "drained": bool, "memory_bytes", "cores", "cores_usable" (no batch job has them but
/// their own), "cores_leased", "executors": [{"id", "owner", "version", "state": "connected" or
/// "lost", "grant"
/// {"source", "users", "cluster", "job", "node", "draining", "ends_in_ms"}, "cores" [ids],
/// "cores_leased", "workers_ready", "counters", and of those that keep data "data_memory_bytes",
/// "data_used_bytes" and, if they say so, "data_leased_bytes" and "data_on_disk_bytes"}]}]. Of
/// grants that the viewer may not see "owner" is "another user", and "cluster" and "job" are left
/// out. With `job` only its executors, as far as the viewer may know of it, and their hosts.
///
/// Made in parts, so that the control thread does other things in between; a host that comes
/// meanwhile is not told of, one that goes may be. Owned by the control thread.
class HostsReport {
 public:
  struct Parts {
    const HostBook& hosts;
    const LeaseBook& leases;
    const Capacity& capacity;
    HostViewer viewer;
    std::optional<std::uint64_t> job;
  };
  explicit HostsReport(Parts parts);
  ~HostsReport();
  HostsReport(const HostsReport&) = delete;
  HostsReport& operator=(const HostsReport&) = delete;

  /// One more part. False: there is no more.
  bool go_on(MonotonicTime now);
  [[nodiscard]] nlohmann::json take();

 private:
  struct Made;
  std::unique_ptr<Made> made_;
};

}  // namespace orchid::gateway
