// benchmarks/cluster_pilots.h: pilots of a gateway on a cluster with one node, n1.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "batch_cluster.h"
#include "foundation/result.h"
#include "foundation/units.h"
#include "orchid/client.h"

namespace orchid::bench {

struct PilotExtras {
  std::optional<ByteCount> memory{};         // nothing: what a worker on each core needs
  std::optional<ByteCount> bandwidth_cap{};  // of memory, in a second
};

/// Used by one thread.
class ClusterPilots {
 public:
  struct Gateway {
    std::string socket;         // of the gateway
    std::string host_and_port;  // as nodes reach it
  };
  ClusterPilots(BatchCluster& cluster, Gateway gateway, Client client)
      : cluster_(cluster), gateway_(std::move(gateway)), client_(std::move(client)) {}

  /// Into the partition of preemptible jobs; the number of the job. Errors: `timed_out`, and those
  /// of the command.
  [[nodiscard]] Result<std::uint64_t> submit(unsigned cores, const PilotExtras& extras = {}) const;
  /// The same; returns when its executor has joined.
  [[nodiscard]] Result<void> start(unsigned cores, const PilotExtras& extras = {});
  /// In its place a job whose step is `sleep`, started as a pilot's is; returns when it runs.
  [[nodiscard]] Result<void> start_sleep(unsigned cores);

 private:
  [[nodiscard]] bool has_joined();
  BatchCluster& cluster_;
  Gateway gateway_;
  Client client_;
};

}  // namespace orchid::bench
