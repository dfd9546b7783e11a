#include "job_groups.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string>

#include "foundation/files.h"
#include "foundation/numbers.h"
#include "foundation/units.h"

namespace orchid::site {
namespace {

using std::filesystem::path;

/// Of "job_17": 17.
std::optional<std::uint64_t> number_in(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  return parse_number<std::uint64_t>(name);
}

/// What a group's path names.
struct Names {
  std::optional<std::uint64_t> job;
  std::optional<std::uint64_t> uid;
  path job_group;  // up to the job
  bool climbs = false;
};

Names names_in(const path& group) {
  Names names;
  path so_far;
  for (const path& part : group) {
    so_far /= part;
    names.climbs = names.climbs || part == "..";
    if (names.job) continue;
    if (const auto uid = number_in(part.native(), "uid_")) names.uid = uid;
    if (const auto job = number_in(part.native(), "job_")) {
      names.job = job;
      names.job_group = so_far;
    }
  }
  return names;
}

/// Where a tree is mounted: "cpuset" at …/cpuset, "cpu,cpuacct" at a folder of that name or of one
/// of the two; version 2 has no controllers in its line.
path tree_of(std::string_view controllers, const path& mount) {
  std::error_code error;
  if (controllers.empty())
    return std::filesystem::is_directory(mount / "unified", error) ? mount / "unified" : mount;
  if (controllers.starts_with("name=")) controllers.remove_prefix(5);
  path together = mount / controllers;
  if (std::filesystem::is_directory(together, error)) return together;
  return mount / controllers.substr(0, controllers.find(','));
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(','), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

/// Version 2 makes the file for each group, and it is empty where nobody has said anything.
bool is_set(const path& file) {
  const auto content = read_file(file, 64_KiB);
  return content && as_text(*content).find_first_not_of("\n ") != std::string_view::npos;
}

bool is_made_by(const path& group, uid_t maker) {
  struct stat status{};
  return ::lstat(group.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == maker && (status.st_mode & 022) == 0;
}

}  // namespace

Result<JobGroups> find_job_groups(const JobGroupQuestion& question) {
  JobGroups found;
  std::string_view membership = question.membership;
  while (!membership.empty()) {
    const std::string_view line = membership.substr(0, membership.find('\n'));
    membership.remove_prefix(std::min(line.size() + 1, membership.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const path group = path(line.substr(second + 1)).relative_path();
    const Names names = names_in(group);
    if (!names.job) continue;
    const path tree = tree_of(controllers, question.mount);
    if (!is_made_by(tree / names.job_group, question.maker)) continue;
    if (names.climbs || *names.job != question.job || (names.uid && *names.uid != question.uid))
      return fail(ErrorCode::denied,
                  fmt::format("its control group is '{}', which is not that of job {} of user {}",
                              group.string(), question.job, question.uid));
    found.groups.push_back(tree / group);
    if (controllers.empty() ? is_set(tree / names.job_group / "cpuset.cpus")
                            : has_word(controllers, "cpuset"))
      found.has_cpuset = true;
  }
  return found;
}

}  // namespace orchid::site
