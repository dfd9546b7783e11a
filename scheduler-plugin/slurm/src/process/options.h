// process/options.h: the command line of orchid-slurm.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>

#include "inventory.h"
#include "libslurm/client.h"
#include "poll_schedule.h"

namespace orchid::slurm {

struct Options {
  LibslurmOptions libslurm;
  PollSchedule::Options polls;
  InventoryOptions inventory;
  /// Of opening libslurm, and of one poll; libslurm alone may wait 10 s and more for slurmctld.
  std::chrono::milliseconds call_deadline{60'000};
  /// Between questions for reservations and partitions.
  std::chrono::milliseconds slow_interval{30'000};
  /// After so long the jobs are asked for again, changed or not, while some are pending: when
  /// backfill plans one, slurmctld does not say that anything has changed.
  std::chrono::milliseconds plan_interval{10'000};
  std::filesystem::path recording;  // empty: none
  bool once = false;                // one full update without being asked, and the end
};

/// Nothing: the command line was wrong, or asked for help; `status` is how to exit then.
[[nodiscard]] std::optional<Options> parse_options(int argc, char** argv, int& status);

}  // namespace orchid::slurm
