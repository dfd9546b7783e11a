// share/share_start.h: begins and ends the share of a batch job: `orchid share start` and `stop`.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "pilot/pilot_owner.h"
#include "share/share_report.h"
#include "share/slurm_steps.h"
#include "share/step_command.h"

namespace orchid::share {

struct ShareStart {
  ShareRequest request;  // what follows from the gateway and from slurmctld is added
  std::optional<pilot::RunningGateway> gateway;  // nothing: the site's service knows its own
  std::string address;                           // by which nodes reach it; empty: one of its own
  std::filesystem::path state;                   // a folder for the share's log
  std::chrono::seconds within{60};               // so long may it take
};

struct ShareParts {
  const SlurmSteps& slurm;
  GatewayQuestion get;
  std::function<void(const std::string& line)> say;
};

/// Starts a step of the job that this process is in, and returns when the executor of each of its
/// nodes has joined; else the step is ended. One at a time for a job. Errors: `conflict`: it is
/// shared already; `lease_ended`: its time is over; `bad_configuration`, `timed_out`, `system`,
/// those of `SlurmSteps`. Throws what `get` throws.
[[nodiscard]] Result<std::vector<NodeShare>> start_share(ShareStart start, const ShareParts& parts);

/// Returns when the job has no share any more, with the steps that have been one. Errors:
/// `timed_out`, those of `SlurmSteps`.
[[nodiscard]] Result<std::vector<std::string>> end_share(const SlurmSteps& slurm, std::uint64_t job,
                                                         std::chrono::seconds within);

}  // namespace orchid::share
