#include "topology/gpu_place.h"

#include <string_view>
#include <system_error>

#include "foundation/files.h"
#include "foundation/numbers.h"

namespace orchid::executor {
namespace {

/// What follows `label` and white space; nothing: no number.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t begin = text.find_first_not_of(" \t", at + label.size());
  if (begin == std::string_view::npos) return std::nullopt;
  return leading_number<std::int64_t>(text.substr(begin));
}

std::optional<std::int64_t> number_in(const std::filesystem::path& path, std::string_view label) {
  const auto content = read_file(path, 64_KiB);
  return content ? number_after(as_text(*content), label) : std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> numa_node_of_gpu(std::uint32_t number,
                                              const std::filesystem::path& root) {
  std::error_code error;
  for (std::filesystem::directory_iterator gpu(root / "proc/driver/nvidia/gpus", error), end;
       !error && gpu != end; gpu.increment(error)) {
    if (number_in(gpu->path() / "information", "Device Minor:") != number) continue;
    const auto node =
        number_in(root / "sys/bus/pci/devices" / gpu->path().filename() / "numa_node", "");
    if (node && *node >= 0) return static_cast<std::uint32_t>(*node);  // -1: the kernel has no idea
  }
  return std::nullopt;
}

}  // namespace orchid::executor
