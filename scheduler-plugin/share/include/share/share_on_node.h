// share/share_on_node.h: what the step of a share does on each of its nodes: `orchid share keep`.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/limits.h"

namespace orchid::share {

/// Nothing and an empty text: it was not said.
struct ShareOnNode {
  bool site = false;                   // the site's service makes the executor
  std::string host_socket;             // of that service
  std::string users = "owner";         // with `site`: or "everybody"
  std::string gateway;                 // "HOST:PORT", without `site`
  std::filesystem::path token_file;    // without `site`
  std::string lane_listen = "auto";    // "IP:PORT"; "auto": by which the node reaches the gateway
  bool host_is_node = false;           // several nodes are one machine
  std::filesystem::path programs;      // folder of Orchid's programs
  std::filesystem::path slurm_folder;  // of Slurm's commands
  std::chrono::seconds gateway_grace = limits::gateway_grace;
  std::optional<std::chrono::seconds> ends_in;  // the job
  std::optional<ByteCount> memory;              // the most for functions
  std::optional<ByteCount> memory_per_cpu;      // that the job has
  std::optional<ByteCount> memory_per_node;     // that the job has
  std::string bandwidth_cap;
  std::string data_memory;  // without `site`
  std::uint32_t cores = 0;  // at most; 0: all that nobody uses
};

/// Runs the program that turns the cores into workers, or has that done, until it ends or a signal
/// says that it shall. Blocks signals, and ignores SIGPIPE, of its thread, the process's only one.
/// Errors: `bad_request`: this process is in no step; `lease_ended`, `quota`, `system`, those of
/// `SlurmSteps`.
[[nodiscard]] Result<void> keep_share(const ShareOnNode& share,
                                      const std::function<void(const std::string& line)>& say);

}  // namespace orchid::share
