// device_figures.h: how long the card takes for things through a device process.
#pragma once
#include <cstdint>

#include "bundle.h"
#include "foundation/result.h"

namespace orchid::gpu_check {

/// What is measured; the same sizes as gpu-bare's.
struct ProblemSizes {
  std::uint32_t idw_rows = 0;
  std::uint32_t md5_launches = 0;
  std::uint64_t copy_bytes = 0;
};

/// Nanoseconds, medians of a few; bytes.
struct DeviceFigures {
  double start = 0;
  double idw_load = 0;
  double md5_load = 0;
  double launch = 0;           // of one item, until it has ended
  double first_to_device = 0;  // with registering the slab
  double to_device = 0;
  double to_host = 0;
  double pinned = 0;  // bytes of the slabs that are registered then
  double idw = 0;
  double idw_call = 0;  // with device memory, and its slabs not registered before
  double md5 = 0;
  std::uint64_t idw_checksum = 0;
  bool md5_is_right = false;
};

/// In a new device process, which is gone afterwards.
[[nodiscard]] Result<DeviceFigures> measure_device(const Bundle& bundle, const ProblemSizes& sizes);

}  // namespace orchid::gpu_check
