// hosts/host_report.h: the hosts of executors, as GET /v1/hosts says them.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hosts/capacity.h"
#include "hosts/host_book.h"
#include "leases/lease_book.h"

namespace orchid::gateway {

/// [{"boot_id", "name" (for constraints), "hostname", "architecture", "cpu", "kind", "features",
/// "drained": bool, "memory_bytes", "cores", "cores_usable" (no batch job has them but their own),
/// "cores_leased", "executors": [{"id", "owner", "version", "state": "connected" or "lost", "grant"
/// {"source", "cluster", "job", "node", "draining", "ends_in_ms"}, "cores" [ids], "cores_leased",
/// "workers_ready", "counters"}]}]
[[nodiscard]] nlohmann::json hosts_json(const HostBook& hosts, const LeaseBook& leases,
                                        const Capacity& capacity, MonotonicTime now);

}  // namespace orchid::gateway
