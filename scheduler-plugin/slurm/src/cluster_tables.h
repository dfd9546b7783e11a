// cluster_tables.h: what slurmctld says, as plain rows: neither its structs nor its numbers, which
// change from release to release.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "protocol/source_messages.h"

namespace orchid::slurm {

struct NodeRow {
  std::string name;
  std::string address;
  std::string hostname;
  std::string architecture;
  std::string features;   // "a,b"
  std::string gres;       // "gpu:a100:2(S:0-1)"
  std::string gres_used;  // "gpu:a100:1(IDX:0)"
  std::string reason;
  /// Base state and flags by name: "idle", "allocated", "down", "drained", "reserved", "planned" …
  std::vector<std::string> conditions;
  bool has_owner = false;  // a job has it for its user alone
  std::uint32_t sockets = 1;
  std::uint32_t cores_per_socket = 1;
  std::uint32_t threads_per_core = 1;
  std::uint32_t cpus_effective = 1;  // threads, without those kept back from jobs
  std::string reserved_cpus;         // abstract thread numbers of those kept back; may be ""
  std::uint64_t memory_mib = 0;
  std::uint64_t memory_reserved_mib = 0;
  std::uint32_t cpus_allocated = 0;  // threads
  std::uint64_t memory_allocated_mib = 0;
};

/// A job on one node.
struct JobShareRow {
  std::string node;
  std::string cores;  // abstract core numbers, "0-1,8"
  std::uint32_t cpus = 0;
  std::string gres;  // "gpu:a100:1(IDX:0)"
};

struct JobRow {
  std::uint64_t id = 0;
  std::uint64_t array = 0;
  std::string array_tasks;
  std::uint32_t uid = 0;
  std::string partition;
  SourceJobState state = SourceJobState::pending;
  bool exclusive = false;
  ClusterTime start_time = 0;
  ClusterTime end_time = 0;      // 0: without limit
  std::uint64_t memory_mib = 0;  // of each node, or of each CPU
  bool memory_is_per_cpu = false;
  std::uint32_t nodes_wanted = 0;
  std::uint32_t cpus_wanted = 0;
  std::string gres_wanted;       // of each node: "gpu:1" or "gres:gpu:1"
  std::uint32_t gres_times = 1;  // so often on each: by its tasks or sockets there
  std::vector<std::string> planned_nodes;
  std::vector<JobShareRow> shares;
};

struct ReservationRow {
  std::string name;
  ClusterTime start_time = 0;
  ClusterTime end_time = 0;
  std::vector<std::string> nodes;
  std::uint32_t core_count = 0;  // on all of them together; 0: not told
  /// Of a reservation of single cores: node and abstract core numbers, when they are told.
  std::vector<std::pair<std::string, std::string>> cores;
};

struct PartitionRow {
  std::string name;
  bool starts_jobs = true;
  std::vector<std::string> nodes;
};

template <typename Row>
struct Table {
  ClusterTime time = 0;  // of the cluster's clock when it was made; what a later question refers to
  std::vector<Row> rows;
  bool hidden = false;  // the site shows it to its operators only: that it is empty means nothing
};

/// What is known of a cluster.
struct ClusterTables {
  Table<NodeRow> nodes;
  Table<JobRow> jobs;
  Table<ReservationRow> reservations;
  Table<PartitionRow> partitions;
};

}  // namespace orchid::slurm
