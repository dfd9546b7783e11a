#include "process/options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace orchid::slurm {

std::optional<Options> parse_options(int argc, char** argv, int& status) {
  CLI::App app{
      "orchid-slurm tells what Slurm has handed to nobody: JSON lines on standard output, commands "
      "on standard input (docs/PROTOCOL.md). orchid-gateway starts it; --once shows what it would "
      "tell."};
  Options options;
  std::int64_t interval_ms = options.polls.interval.count();
  std::int64_t deadline_ms = options.call_deadline.count();
  app.add_option("--configuration", options.libslurm.configuration,
                 "slurm.conf; usually found by Slurm's own rules")
      ->envname("SLURM_CONF");  // Slurm's, not ours
  app.add_option("--library", options.libslurm.library,
                 "libslurm; usually the one of the release that this program is for");
  app.add_option("--interval-ms", interval_ms, "between two looks at the cluster")
      ->check(CLI::Range(100, 3'600'000))
      ->capture_default_str();
  app.add_option("--requests-per-minute", options.polls.requests_per_minute,
                 "slurmctld is never asked more often")
      ->check(CLI::Range(most_requests_per_poll, 100'000U))
      ->capture_default_str();
  app.add_option("--deadline-ms", deadline_ms,
                 "a look that takes longer ends the process, since libslurm cannot be interrupted")
      ->check(CLI::Range(100, 3'600'000))
      ->capture_default_str();
  app.add_option("--dpu-feature", options.inventory.dpu_features,
                 "nodes with one of these features are DPUs")
      ->capture_default_str();
  app.add_option("--record", options.recording,
                 "a file to which all that slurmctld answers is added, to find errors");
  app.add_flag("--once", options.once, "tell everything once, and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  options.polls.interval = std::chrono::milliseconds(interval_ms);
  options.call_deadline = std::chrono::milliseconds(deadline_ms);
  return options;
}

}  // namespace orchid::slurm
