// protocol/source_messages.h: what a capacity source and the gateway say to each other, one JSON
// object per line (docs/PROTOCOL.md §9).
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foundation/error_code.h"
#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/core_list.h"

namespace orchid {

constexpr std::uint32_t source_protocol_version = 1;
constexpr std::size_t longest_source_line = 4 * 1024 * 1024;
/// A part of an update is closed when it has grown so long; one row may be longer.
constexpr std::size_t usual_source_line = 256 * 1024;

/// Seconds since 1970 on the cluster's clock; 0: nobody knows, or never.
using ClusterTime = std::int64_t;

enum class SourceNodeKind : std::uint8_t { cpu, gpu, dpu };
/// planned: usable, but a waiting job is about to take it. unusable: nothing may be started there.
enum class SourceNodeState : std::uint8_t { usable, planned, unusable };
enum class SourceJobState : std::uint8_t { pending, running, suspended, completing };
[[nodiscard]] std::string_view to_string(SourceNodeKind kind);
[[nodiscard]] std::string_view to_string(SourceNodeState state);
[[nodiscard]] std::string_view to_string(SourceJobState state);
[[nodiscard]] std::optional<SourceNodeKind> parse_source_node_kind(std::string_view name);
[[nodiscard]] std::optional<SourceNodeState> parse_source_node_state(std::string_view name);
[[nodiscard]] std::optional<SourceJobState> parse_source_job_state(std::string_view name);

struct SourceGpu {
  std::uint32_t index = 0;  // the batch system's number
  std::string type;         // "" when it has none
  friend bool operator==(const SourceGpu&, const SourceGpu&) = default;
};

/// A machine of the cluster. Cores are numbered 0 … sockets × cores_per_socket - 1, socket by
/// socket: numbers of the batch system, not of the operating system.
struct SourceNode {
  std::string name;
  std::string address;
  std::string hostname;
  std::string architecture;  // as uname says it; "" when nobody knows
  SourceNodeKind kind = SourceNodeKind::cpu;
  std::vector<std::string> features;
  std::vector<std::string> partitions;
  std::uint32_t sockets = 1;
  std::uint32_t cores_per_socket = 1;
  std::uint32_t threads_per_core = 1;
  /// Kept back from all jobs; their numbers may be unknown, so `cores_usable` counts what is left.
  CoreList reserved_cores;
  std::uint32_t cores_usable = 1;
  ByteCount memory;  // that jobs may have
  std::vector<SourceGpu> gpus;
  SourceNodeState state = SourceNodeState::usable;
  std::vector<std::string> why;  // it is planned or unusable: names of conditions
  std::string reason;            // an administrator's words
  // What no job has; nothing when the node is unusable.
  std::uint32_t cores_free = 0;
  std::optional<CoreList> free_cores;  // none: only their number is known
  std::uint32_t hidden_cores = 0;      // of jobs that the source is not shown
  ByteCount memory_free;
  std::uint32_t gpus_free = 0;
  std::optional<CoreList> free_gpus;
  [[nodiscard]] std::uint32_t cores() const { return sockets * cores_per_socket; }
  friend bool operator==(const SourceNode&, const SourceNode&) = default;
};

/// What a job has on one node.
struct SourceShare {
  std::string node;
  CoreList cores;
  ByteCount memory;
  CoreList gpus;
  friend bool operator==(const SourceShare&, const SourceShare&) = default;
};

struct SourceJob {
  std::uint64_t id = 0;
  std::uint64_t array = 0;  // the array that it is a part of; 0: none
  std::string array_tasks;  // which of its tasks: "7", or "8-20" while they wait
  std::uint32_t uid = 0;
  std::string partition;
  SourceJobState state = SourceJobState::pending;
  bool exclusive = false;                  // nobody else may use its nodes, whatever it has there
  ClusterTime start_time = 0;              // of a pending job: when it is planned to start
  ClusterTime end_time = 0;                // at the latest
  std::vector<SourceShare> shares;         // none while it is pending
  std::vector<std::string> planned_nodes;  // of a pending job with a planned start
  std::uint32_t nodes_wanted = 0;          // of a pending job
  std::uint32_t cores_wanted = 0;          // in all
  friend bool operator==(const SourceJob&, const SourceJob&) = default;
};

/// A time in which so much of a node stays free when nothing new is submitted.
struct SourceWindow {
  ClusterTime from = 0;   // 0: now
  ClusterTime until = 0;  // 0: no end is known
  std::uint32_t cores = 0;
  ByteCount memory;
  std::uint32_t gpus = 0;
  friend bool operator==(const SourceWindow&, const SourceWindow&) = default;
};

/// Windows follow each other without a gap; the first begins now.
struct SourceForecast {
  std::string node;
  std::vector<SourceWindow> windows;
  friend bool operator==(const SourceForecast&, const SourceForecast&) = default;
};

// Messages of the source.

/// The first line.
struct SourceHello {
  std::uint32_t oldest_protocol = source_protocol_version;
  std::uint32_t newest_protocol = source_protocol_version;
  std::string source;                     // "slurm": the name of its kind
  std::string version;                    // of the program, for people
  std::string cluster;                    // whose capacity it tells
  std::string backend;                    // what it speaks with, for people: "Slurm 22.05.8"
  std::uint32_t requests_per_minute = 0;  // it asks the batch system at most so often; 0: never
};

/// What has changed since the last one, or everything. Lines with `more` belong together with the
/// next one and count when the last of them is there.
struct SourceUpdate {
  std::uint64_t sequence = 0;  // of the line, from 1
  bool full = false;           // what was told before is void
  bool more = false;
  ClusterTime time = 0;  // what the cluster's clock shows
  std::vector<SourceNode> nodes;
  std::vector<std::string> nodes_gone;
  std::vector<SourceJob> jobs;
  std::vector<std::uint64_t> jobs_gone;
  std::vector<SourceForecast> forecasts;
};

/// How the source is; sent whenever that changes, and at least every 10 s.
struct SourceReport {
  bool is_current = true;    // false: the batch system does not answer, and what was told ages
  std::uint64_t age_ms = 0;  // since the batch system last answered
  ErrorCode code = ErrorCode::internal;  // why it is not current
  std::string message;                   // "" when it is
  std::map<std::string, std::uint64_t> counters;
};

/// The last line: the source ends, and why.
struct SourceError {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

using SourceMessage = std::variant<SourceHello, SourceUpdate, SourceReport, SourceError>;

// Messages of the gateway. When it closes its end, the source ends.

/// The answer to hello: from here on the source tells what it knows.
struct SourceStart {
  std::uint32_t protocol = source_protocol_version;
};
/// The next update shall be a full one.
struct SourceResync {};

using SourceCommand = std::variant<SourceStart, SourceResync>;

// Texts are lines without their end.

[[nodiscard]] std::string encode(const SourceHello& message);
[[nodiscard]] std::string encode(const SourceReport& message);
[[nodiscard]] std::string encode(const SourceError& message);
[[nodiscard]] std::string encode(const SourceCommand& message);
/// One update as the lines that it needs; the first one has `update.sequence`.
[[nodiscard]] std::vector<std::string> encode(const SourceUpdate& update);

/// Errors: `bad_request`, naming the type and the field that is missing or wrong; `too_large`.
[[nodiscard]] Result<SourceMessage> parse_source_message(std::string_view line);
[[nodiscard]] Result<SourceCommand> parse_source_command(std::string_view line);

}  // namespace orchid
