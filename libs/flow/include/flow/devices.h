// flow/devices.h: cores and GPUs, for calls whose functions run on both.
#pragma once
#include <cstdint>
#include <string_view>

namespace orchid::flow {

/// Where a call is to run.
enum class Device : std::uint8_t {
  any,    // as its function prefers
  cores,  // on a worker without a GPU
  gpu,
};
/// "any", "cores", "gpu".
[[nodiscard]] std::string_view to_string(Device device);

/// What calls of one node are on one of the two.
struct DevicePart {
  std::uint32_t calls = 0;  // open at most; 0: it has none there
  /// It begins one only while more pieces than this are left: the other one is done with fewer of
  /// them sooner than this one with a single one.
  std::uint64_t from = 0;
  std::uint64_t pieces = 0;  // of a map in runs: as Advice::pieces and `share`
  std::uint32_t share = 0;
  friend bool operator==(const DevicePart&, const DevicePart&) = default;
};

/// How a node's calls are divided. Neither has any: they run wherever their function prefers.
struct Devices {
  DevicePart cores;
  DevicePart gpu;
  [[nodiscard]] const DevicePart& of(Device device) const {
    return device == Device::gpu ? gpu : cores;
  }
  friend bool operator==(const Devices&, const Devices&) = default;
};

/// Cores of a worker that a function runs on without a GPU, from what it needs ("1 core, 1 GPU | 4
/// cores"); 0: it cannot choose between the two.
[[nodiscard]] std::uint32_t cores_beside_gpu(std::string_view needs);

}  // namespace orchid::flow
