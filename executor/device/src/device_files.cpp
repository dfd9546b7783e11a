#include "device_files.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <system_error>

#include "foundation/files.h"
#include "foundation/numbers.h"

namespace orchid::executor {
namespace {

struct ListedGpu {
  std::string uuid;
  std::string minor;  // N of /dev/nvidiaN
};

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

/// "GPU UUID: \t GPU-…", "Device Minor: \t 0"
ListedGpu read_information(const std::filesystem::path& file) {
  ListedGpu gpu;
  const auto content = read_file(file, 64_KiB);
  if (!content) return gpu;
  for (const auto part : std::views::split(as_text(*content), '\n')) {
    const std::string_view line(part.begin(), part.end());
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (line.substr(0, colon) == "GPU UUID") gpu.uuid = trimmed(line.substr(colon + 1));
    if (line.substr(0, colon) == "Device Minor") gpu.minor = trimmed(line.substr(colon + 1));
  }
  return gpu;
}

/// By PCI address, which their folders are named by.
std::vector<ListedGpu> list_gpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    folders.push_back(entry.path());
  std::ranges::sort(folders);
  std::vector<ListedGpu> gpus;
  for (const auto& path : folders) gpus.push_back(read_information(path / "information"));
  return gpus;
}

std::optional<ListedGpu> find_gpu(const std::string& gpu, const std::vector<ListedGpu>& listed) {
  const auto index = parse_number<std::size_t>(gpu);
  if (index) return *index < listed.size() ? std::optional(listed[*index]) : std::nullopt;
  const auto found = std::ranges::find(listed, gpu, &ListedGpu::uuid);
  return found == listed.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::size_t count_cards(const std::filesystem::path& devices) {
  const auto says = [](const std::filesystem::path& file, std::string_view beginning) {
    const auto content = read_file(file, 4_KiB);
    return content && as_text(*content).starts_with(beginning);
  };
  std::size_t cards = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(devices, error))
    // Class 3: what shows pictures, or could.
    if (says(entry.path() / "vendor", "0x10de") && says(entry.path() / "class", "0x03")) ++cards;
  return cards;
}

DeviceFiles device_files(const std::string& gpu, const std::filesystem::path& gpus,
                         std::string_view library_path) {
  const auto listed = list_gpus(gpus);
  const auto found = find_gpu(gpu, listed);
  DeviceFiles files{
      .visible = found && !found->uuid.empty() ? found->uuid : gpu,
      .devices = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"},
      .readable = {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local", "/etc/ld.so.cache",
                   "/etc/nvidia", "/etc/localtime", "/usr/share/zoneinfo", "/sys", "/proc"},
      // The driver names its threads; where it cannot, it fails with error 304.
      .writable = {"/proc/self/task"}};
  if (found && !found->minor.empty()) {
    files.devices.emplace_back("/dev/nvidia" + found->minor);
  } else {
    // A slice (MIG) is one of any GPU, and is reached through its capability's file.
    if (gpu.starts_with("MIG-")) files.devices.emplace_back("/dev/nvidia-caps");
    for (const ListedGpu& other : listed)
      if (!other.minor.empty()) files.devices.emplace_back("/dev/nvidia" + other.minor);
  }
  for (const auto part : std::views::split(library_path, ':'))
    if (!std::ranges::empty(part))
      files.readable.emplace_back(std::string(part.begin(), part.end()));
  return files;
}

}  // namespace orchid::executor
