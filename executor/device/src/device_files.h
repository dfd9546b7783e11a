// device_files.h: which GPU is meant, and which files its driver opens.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orchid::executor {

struct DeviceFiles {
  /// What CUDA_VISIBLE_DEVICES is to say: a UUID where the system tells it.
  std::string visible;
  std::vector<std::filesystem::path> devices;   // read, written, and asked by ioctl
  std::vector<std::filesystem::path> readable;  // trees: libraries, and what the kernel tells
  std::vector<std::filesystem::path> writable;  // trees
};

/// `gpu`: an index as nvidia-smi counts (by PCI address), or a UUID. `gpus`: where the driver lists
/// the GPUs, /proc/driver/nvidia/gpus. `library_path`: LD_LIBRARY_PATH. What the system does not
/// tell is left to the driver.
[[nodiscard]] DeviceFiles device_files(const std::string& gpu, const std::filesystem::path& gpus,
                                       std::string_view library_path);

/// NVIDIA's GPUs among the machine's PCI devices, whether there is a driver or not. `devices`:
/// /sys/bus/pci/devices.
[[nodiscard]] std::size_t count_cards(const std::filesystem::path& devices);

}  // namespace orchid::executor
