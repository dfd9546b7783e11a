#include "doctor/examination.h"

#include <algorithm>

namespace orchid::cli {
namespace {

/// How long Orchid may be ready before whoever waits for it notices.
constexpr std::chrono::milliseconds look_again{50};

std::vector<Finding> examine_machine(const DoctorEnvironment& environment) {
  std::vector<Finding> findings;
  for (auto* check : {check_compiler, check_programs, check_stopped, check_runtime_directory,
                      check_state_directory, check_sandbox, check_lanes, check_gpus,
                      check_open_files, check_hostname})
    findings.push_back(check(environment));
  return findings;
}

std::vector<Finding> examine_gateway(const DoctorEnvironment& environment) {
  std::vector<Finding> findings;
  for (auto* check : {check_gateway_found, check_gateway_answers, check_version, check_token,
                      check_batch_system, check_executor, check_workers, check_data}) {
    findings.push_back(check(environment));
    if (findings.back().health == Health::broken) break;
  }
  return findings;
}

}  // namespace

bool is_any_broken(const std::vector<Finding>& findings) {
  return std::ranges::find(findings, Health::broken, &Finding::health) != findings.end();
}

std::vector<Finding> examine(const DoctorEnvironment& environment) {
  std::vector<Finding> findings = examine_machine(environment);
  for (Finding& finding : examine_gateway(environment)) findings.push_back(std::move(finding));
  return findings;
}

std::vector<Finding> examine_until_well(const DoctorEnvironment& environment,
                                        const Patience& patience) {
  const MonotonicTime end = patience.clock.now() + patience.longest;
  while (patience.clock.now() < end) {
    // The machine's checks start programs, which a starting Orchid would feel: only once it
    // answers.
    if (!is_any_broken(examine_gateway(environment))) {
      auto findings = examine(environment);
      if (!is_any_broken(findings)) return findings;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - patience.clock.now());
    patience.pause(std::clamp(left, std::chrono::milliseconds(0), look_again));
  }
  return examine(environment);
}

}  // namespace orchid::cli
