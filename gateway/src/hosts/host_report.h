// hosts/host_report.h: what GET /v1/hosts says.
#pragma once
#include <string>

#include "hosts/host_book.h"
#include "leases/lease_book.h"

namespace orchid::gateway {

/// {"hosts": [{"boot_id", "hostname", "architecture", "cpu", "memory_bytes", "cores",
/// "cores_leased", "executors": [{"id", "owner", "version", "state": "connected" or "lost", "cores"
/// [ids], "cores_leased", "workers_ready", "counters"}]}]}
[[nodiscard]] std::string hosts_json(const HostBook& hosts, const LeaseBook& leases);

}  // namespace orchid::gateway
