// pilots/pilot_settings.h: the configuration of automatic pilots, and the program that keeps them.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "companions/kept_process.h"
#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/limits.h"

namespace orchid::gateway {

/// The table [pilots] of the file. Empty texts: what the batch system says.
struct PilotSettings {
  bool automatic = false;  // submit and cancel pilots by demand
  std::string partition;
  std::string qos;
  std::string account;
  bool site = false;        // the site's service on each node makes the executors (orchid-host)
  std::string host_socket;  // of that service, if not in the usual place
  std::string address;      // "host:port" by which nodes reach the gateway
  std::string host_identity = "boot";              // or node: see `orchid pilot start --help`
  std::string scheduling = "idle";                 // or normal: what runs in them gives way
  ByteCount bandwidth_cap;                         // of functions on a node, in a second; 0: none
  std::optional<ByteCount> data_memory{};          // of each node's; nothing: see its `--help`
  std::uint32_t most_queued = 16;                  // pilots that wait; 1 to 1 000
  std::uint32_t most_running = 64;                 // 1 to 100 000
  std::uint32_t most_cores = 64;                   // of one; 1 to 4 096
  std::chrono::milliseconds shortest{2 * 60'000};  // time of one; 1 min and more
  std::chrono::milliseconds longest{3'600'000};
  std::chrono::milliseconds idle_time{60'000};  // of a pilot, until it is cancelled; 1 s and more
  /// So long the batch system may find no room on a node that seems to be free, until another one
  /// is tried; and so long one that runs may take to join, until it counts as failed; 1 s and more.
  std::chrono::milliseconds start_within{180'000};
  std::chrono::milliseconds join_within{180'000};
  /// Without a gateway they end after so long, and those that wait leave the queue; 1 s to 1 day.
  std::chrono::milliseconds gateway_grace = limits::gateway_grace;
  ByteCount worker_memory;  // for each core; set from the gateway's own
  std::chrono::system_clock::time_point started = std::chrono::system_clock::now();  // the gateway
};

/// `listen`: the gateway's addresses, as configured. Errors: `bad_configuration`: pilots by demand,
/// and nobody says that their jobs give way, their times cannot be, or no node reaches the gateway.
[[nodiscard]] Result<void> check(const PilotSettings& settings,
                                 const std::vector<std::string>& listen);

/// `orchid pilot keep`, which asks the gateway at `socket`, with that state directory, for the
/// demand.
[[nodiscard]] KeptProcess::Options pilot_keeper(const PilotSettings& settings,
                                                const std::filesystem::path& orchid,
                                                const std::filesystem::path& socket,
                                                const std::filesystem::path& state);

/// Whether pilots of the gateway with that state directory have ever been started, by whomever.
[[nodiscard]] bool has_had_pilots(const std::filesystem::path& state);
/// `orchid pilot guard`, which outlives the gateway and then clears the queue of its pilots.
[[nodiscard]] KeptProcess::Options pilot_guard(const PilotSettings& settings,
                                               const std::filesystem::path& orchid,
                                               const std::filesystem::path& state);

}  // namespace orchid::gateway
