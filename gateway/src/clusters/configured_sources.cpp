#include "clusters/configured_sources.h"

#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

namespace orchid::gateway {
namespace {

constexpr std::string_view slurm_at = "slurm:";

/// With no file of a cluster's settings: that which Slurm's own commands find.
CapacitySource::Options slurm_source(const SourceSettings& settings, std::string file = {}) {
  CapacitySource::Options options{
      .name = "slurm", .program = settings.slurm_program, .arguments = {}};
  if (!file.empty())
    options.arguments.insert(options.arguments.end(), {"--configuration", std::move(file)});
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

/// "/opt/site/source --queue idle": words between blanks, the first of which is its path.
CapacitySource::Options own_source(const std::string& command) {
  std::istringstream text(command);
  std::vector<std::string> words(std::istream_iterator<std::string>(text), {});
  const std::filesystem::path program = words.front();
  words.erase(words.begin());
  return {.name = program.filename(), .program = program, .arguments = std::move(words)};
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
    if (name == "slurm" || (name == "auto" && has_slurm)) {
      sources.push_back(slurm_source(settings));
    } else if (name.starts_with(std::string(slurm_at) + '/')) {
      sources.push_back(slurm_source(settings, name.substr(slurm_at.size())));
    } else if (name.starts_with('/')) {
      sources.push_back(own_source(name));
    } else if (name != "none" && name != "auto") {
      return fail(
          ErrorCode::bad_configuration,
          "sources: '" + name +
              "' is not slurm, slurm:/path/of/slurm.conf, auto, none or the absolute path of a "
              "program, with its arguments");
    }
  }
  return sources;
}

}  // namespace orchid::gateway
