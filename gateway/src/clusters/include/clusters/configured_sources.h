// clusters/configured_sources.h: which capacity sources the configuration means.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "clusters/capacity_source.h"

namespace orchid::gateway {

struct SourceSettings {
  std::vector<std::string> sources;     // "slurm", "auto", "none", programs: "/path word word"
  std::filesystem::path slurm_program;  // orchid-slurm
  std::uint32_t slurm_requests_per_minute = 0;  // 0: its own default, as below
  std::chrono::milliseconds slurm_interval{0};
  std::vector<std::string> slurm_dpu_features;  // nodes with one of them are DPUs
};

/// Whether Slurm's own rules find a configuration: SLURM_CONF (which is Slurm's, not ours), or
/// slurm.conf in /etc/slurm.
[[nodiscard]] bool slurm_is_configured();

/// Errors: `bad_configuration`: a source that is neither a known name nor an absolute path.
[[nodiscard]] Result<std::vector<CapacitySource::Options>> configured_sources(
    const SourceSettings& settings, bool has_slurm);

}  // namespace orchid::gateway
