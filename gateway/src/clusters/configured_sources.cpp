#include "clusters/configured_sources.h"

#include <cstdlib>

namespace orchid::gateway {
namespace {

CapacitySource::Options slurm_source(const SourceSettings& settings) {
  CapacitySource::Options options{
      .name = "slurm", .program = settings.slurm_program, .arguments = {}};
  if (settings.slurm_requests_per_minute != 0)
    options.arguments.insert(
        options.arguments.end(),
        {"--requests-per-minute", std::to_string(settings.slurm_requests_per_minute)});
  if (settings.slurm_interval.count() != 0)
    options.arguments.insert(options.arguments.end(),
                             {"--interval-ms", std::to_string(settings.slurm_interval.count())});
  for (const std::string& feature : settings.slurm_dpu_features)
    options.arguments.insert(options.arguments.end(), {"--dpu-feature", feature});
  return options;
}

}  // namespace

bool slurm_is_configured() {
  std::error_code error;
  return std::getenv("SLURM_CONF") != nullptr ||  // NOLINT(concurrency-mt-unsafe): at the start
         std::filesystem::exists("/etc/slurm/slurm.conf", error);
}

Result<std::vector<CapacitySource::Options>> configured_sources(const SourceSettings& settings,
                                                                bool has_slurm) {
  std::vector<CapacitySource::Options> sources;
  for (const std::string& name : settings.sources) {
    const std::filesystem::path path(name);
    if (name == "slurm" || (name == "auto" && has_slurm)) {
      sources.push_back(slurm_source(settings));
    } else if (path.is_absolute()) {
      sources.push_back({.name = path.filename(), .program = path, .arguments = {}});
    } else if (name != "none" && name != "auto") {
      return fail(
          ErrorCode::bad_configuration,
          "sources: '" + name + "' is not slurm, auto, none or the absolute path of a program");
    }
  }
  return sources;
}

}  // namespace orchid::gateway
