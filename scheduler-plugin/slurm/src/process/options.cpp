#include "process/options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace orchid::slurm {

std::optional<Options> parse_options(int argc, char** argv, int& status) {
  CLI::App app{
      "orchid-slurm reports what Slurm has given to no job: JSON lines on standard output, "
      "commands on standard input (docs/PROTOCOL.md). orchid-gateway starts it; --once prints the "
      "report once."};
  Options options;
  std::int64_t interval_ms = options.polls.interval.count();
  std::int64_t deadline_ms = options.call_deadline.count();
  app.add_option("--configuration", options.libslurm.configuration,
                 "path of slurm.conf (default: found as Slurm finds it)")
      ->envname("SLURM_CONF");  // Slurm's, not ours
  app.add_option(
      "--library", options.libslurm.library,
      "path of libslurm (default: that of the release for which this program was built)");
  app.add_option("--interval-ms", interval_ms, "the time between two looks at the cluster")
      ->check(CLI::Range(100, 3'600'000))
      ->capture_default_str();
  app.add_option("--requests-per-minute", options.polls.requests_per_minute,
                 "the most requests to slurmctld in a minute")
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
                 "file to which all answers of slurmctld are appended, to find errors");
  app.add_flag("--once", options.once, "report everything once and exit");
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
