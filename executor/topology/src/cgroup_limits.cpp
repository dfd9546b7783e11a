#include "topology/cgroup_limits.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/files.h"
#include "foundation/numbers.h"

namespace orchid::executor {
namespace {

/// The numbers of a file's first line; a word that is no number ("max") is nothing.
std::vector<std::optional<double>> read_numbers(const std::filesystem::path& path) {
  const auto content = read_file(path, 4_KiB);
  if (!content) return {};
  std::string_view line = as_text(*content);
  line = line.substr(0, line.find('\n'));
  std::vector<std::optional<double>> numbers;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    numbers.push_back(leading_number<double>(word));
  }
  return numbers;
}

std::optional<double> first_of(const std::filesystem::path& path) {
  const auto numbers = read_numbers(path);
  return numbers.empty() ? std::nullopt : numbers.front();
}

template <typename T>
void tighten(std::optional<T>& limit, T value) {
  limit = limit ? std::min(*limit, value) : value;
}

void add_memory(CgroupLimits& limits, const std::filesystem::path& file) {
  // Version 1 says "none" with a number near 2^63.
  if (const auto bytes = first_of(file); bytes && *bytes > 0 && *bytes < 0x1p62)
    tighten(limits.memory, ByteCount{static_cast<std::uint64_t>(*bytes)});
}

void add_cores(CgroupLimits& limits, std::optional<double> quota, std::optional<double> period) {
  if (quota && period && *quota > 0 && *period > 0) tighten(limits.cores, *quota / *period);
}

void add_unified(CgroupLimits& limits, const std::filesystem::path& group) {
  add_memory(limits, group / "memory.max");
  if (const auto numbers = read_numbers(group / "cpu.max"); numbers.size() == 2)
    add_cores(limits, numbers[0], numbers[1]);
}

/// Calls `visit` with the group and all above it, as far as they are visible under `root`.
template <typename Visit>
void walk_up(const std::filesystem::path& root, std::string_view group, Visit visit) {
  std::filesystem::path path = std::filesystem::path(group).relative_path();
  while (true) {
    visit(path.empty() ? root : root / path);
    if (path.empty()) return;
    path = path.parent_path();
  }
}

void add_line(CgroupLimits& limits, const std::filesystem::path& mount, std::string_view line) {
  // "4:memory:/path" in version 1, "0::/path" in version 2
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return;
  const std::string controllers =
      "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
  const std::string_view group = line.substr(second + 1);
  if (controllers == ",,") {
    walk_up(mount, group, [&](const auto& path) { add_unified(limits, path); });
    walk_up(mount / "unified", group, [&](const auto& path) { add_unified(limits, path); });
  }
  if (controllers.contains(",memory,"))
    walk_up(mount / "memory", group,
            [&](const auto& path) { add_memory(limits, path / "memory.limit_in_bytes"); });
  if (controllers.contains(",cpu,"))
    for (const char* name : {"cpu", "cpu,cpuacct"})
      walk_up(mount / name, group, [&](const auto& path) {
        add_cores(limits, first_of(path / "cpu.cfs_quota_us"),
                  first_of(path / "cpu.cfs_period_us"));
      });
}

}  // namespace

CgroupLimits read_cgroup_limits(const std::filesystem::path& membership,
                                const std::filesystem::path& mount) {
  CgroupLimits limits;
  const auto content = read_file(membership, 64_KiB);
  if (!content) return limits;
  std::string_view text = as_text(*content);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    add_line(limits, mount, line);
  }
  return limits;
}

}  // namespace orchid::executor
