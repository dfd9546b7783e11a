// share/step_command.h: the step of a job that is its share: a process of `orchid share keep` on
// each node of the job, beside all other steps.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "protocol/limits.h"
#include "share/batch_job.h"
#include "share/share_option.h"

namespace orchid::share {

struct ShareRequest {
  BatchJob job;
  ShareOption option;
  bool site = false;  // the site's service on each node makes the executor: what follows about the
                      // gateway, lanes and the host is not used
  std::filesystem::path host_socket;  // of that service; empty: where it usually is
  bool for_everybody = false;         // and not for its owner alone, if the site allows it
  std::string gateway;                // "host:port", as the nodes reach it
  std::filesystem::path token_file;   // readable by the user on the nodes
  std::filesystem::path programs;     // folder of Orchid's programs on the nodes
  std::filesystem::path srun;
  std::string lane_listen = "auto";  // as `orchid share keep` takes it
  bool host_is_node = false;         // several nodes are one machine
  std::optional<ByteCount>
      data_memory{};  // on each node; nothing: what an executor keeps by itself
  std::chrono::seconds gateway_grace = limits::gateway_grace;
  std::optional<std::chrono::seconds> ends_in;  // the job
};

/// Slurm's end would come with less notice.
constexpr std::chrono::seconds end_margin{5};

/// The words of that command, its path first.
[[nodiscard]] std::vector<std::string> step_command(const ShareRequest& request);
/// What such a step may have of the environment: nothing by which a job script tells its own steps
/// what to be like. Variables as "NAME=VALUE".
[[nodiscard]] std::vector<std::string> step_environment(const std::vector<std::string>& all);
/// On a node where the job has so many CPUs: what was said, but no more than the job has there; or,
/// if nothing was said, for a worker on each core that is shared. Nothing: the job's is not known,
/// or nobody counts it.
[[nodiscard]] std::optional<ByteCount> memory_of(const ShareOption& option, const BatchJob& job,
                                                 std::uint32_t cpus);

}  // namespace orchid::share
