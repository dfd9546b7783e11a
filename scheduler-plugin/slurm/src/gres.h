// gres.h: reads Slurm's texts about generic resources: "gpu:a100:2(S:0-1),shard:8", "gpu:1(IDX:0)".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/core_list.h"

namespace orchid::slurm {

/// The GPUs in such a text: one element for each type.
struct GpuCount {
  std::string type;  // "" when it has none
  std::uint32_t count = 0;
  CoreList indices;  // Slurm's, when the text names them
};

/// Other resources are passed over; what cannot be read counts as not there. At most 1024 GPUs.
[[nodiscard]] std::vector<GpuCount> parse_gpus(std::string_view gres);
[[nodiscard]] std::uint32_t count_of(const std::vector<GpuCount>& gpus);
/// All indices that are named.
[[nodiscard]] CoreList indices_of(const std::vector<GpuCount>& gpus);

}  // namespace orchid::slurm
