// topology/gpu_place.h: on which NUMA node a GPU is, so that its worker's cores are near it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace orchid::executor {

/// Of the NVIDIA GPU that is /dev/nvidia`number`, by what its driver and the kernel say in /proc
/// and /sys below `root`. Nothing: not known, or the machine has no such nodes.
[[nodiscard]] std::optional<std::uint32_t> numa_node_of_gpu(std::uint32_t number,
                                                            const std::filesystem::path& root);

}  // namespace orchid::executor
