#include "gres.h"

#include <algorithm>
#include <optional>

#include "foundation/numbers.h"

namespace orchid::slurm {
namespace {

constexpr std::uint32_t most_gpus = 1024;

/// The next resource, up to a comma outside of parentheses: "(IDX:0,2-3)" has some inside.
std::string_view cut_resource(std::string_view& text) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')') --depth;
    if (text[end] == ',' && depth <= 0) break;
  }
  const std::string_view resource = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return resource;
}

std::optional<std::uint32_t> read_count(std::string_view text) {
  const auto count = parse_number<std::uint32_t>(text);
  if (!count) return std::nullopt;
  return std::min(*count, most_gpus);
}

CoreList read_indices(std::string_view details) {
  const std::size_t start = details.find("IDX:");
  if (start == std::string_view::npos) return {};
  details.remove_prefix(start + 4);
  // "N/A" when nothing is used.
  return parse_core_list(details.substr(0, details.find(')'))).value_or(CoreList{});
}

std::optional<GpuCount> read_resource(std::string_view resource) {
  if (resource.starts_with("gres:") || resource.starts_with("gres/")) resource.remove_prefix(5);
  const std::size_t details = resource.find('(');
  std::string_view name = resource.substr(0, details);
  if (!name.starts_with("gpu")) return std::nullopt;
  name.remove_prefix(3);
  if (!name.empty() && name.front() != ':' && name.front() != '=') return std::nullopt;
  GpuCount gpu{.count = 1};
  const std::size_t last = name.find_last_of(":=");
  if (last != std::string_view::npos) {
    const auto count = read_count(name.substr(last + 1));
    // "gpu:a100" is one of that type.
    const std::string_view type = count ? name.substr(0, last) : name;
    if (count) gpu.count = *count;
    if (type.size() > 1) gpu.type = type.substr(1);
  }
  if (details != std::string_view::npos) gpu.indices = read_indices(resource.substr(details));
  return gpu;
}

}  // namespace

std::vector<GpuCount> parse_gpus(std::string_view gres) {
  std::vector<GpuCount> gpus;
  while (!gres.empty())
    if (auto gpu = read_resource(cut_resource(gres))) gpus.push_back(std::move(*gpu));
  return gpus;
}

std::uint32_t count_of(const std::vector<GpuCount>& gpus) {
  std::uint32_t count = 0;
  for (const GpuCount& gpu : gpus) count = std::min(count + gpu.count, most_gpus);
  return count;
}

CoreList indices_of(const std::vector<GpuCount>& gpus) {
  CoreList all;
  for (const GpuCount& gpu : gpus) all = united(all, gpu.indices);
  return all;
}

}  // namespace orchid::slurm
