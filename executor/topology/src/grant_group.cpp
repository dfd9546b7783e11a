#include "topology/grant_group.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <ranges>
#include <string_view>
#include <thread>
#include <utility>

#include "foundation/files.h"
#include "foundation/numbers.h"
#include "foundation/unique_fd.h"

namespace orchid::executor {
namespace {

constexpr std::string_view name_prefix = "orchid-";
constexpr std::chrono::seconds removal_patience{1};

/// A file of a control group takes one value with one write. 0, or errno.
int put(const std::filesystem::path& file, const std::string& value) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!fd) return errno;
  const ssize_t written = ::write(fd.get(), value.data(), value.size());
  return written == static_cast<ssize_t>(value.size()) ? 0 : (written < 0 ? errno : EIO);
}

std::string line_of(const std::filesystem::path& file) {
  const auto content = read_file(file, 64_KiB);
  if (!content) return {};
  const std::string_view text = as_text(*content);
  return std::string(text.substr(0, text.find('\n')));
}

std::string list_of(const std::vector<std::uint32_t>& cores) {
  std::string text;
  for (const std::uint32_t core : cores) text += (text.empty() ? "" : ",") + std::to_string(core);
  return text;
}

/// Of executors that were killed. The kernel refuses to remove one that is in use.
void remove_stale(const std::filesystem::path& parent) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(name_prefix)) continue;
    const auto pid = parse_number<pid_t>(std::string_view(name).substr(name_prefix.size()));
    if (!pid || *pid <= 0) continue;
    if (::kill(*pid, 0) != 0 && errno == ESRCH) ::rmdir(entry.path().c_str());
  }
}

bool has_word(std::string_view words, std::string_view word, char separator) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(separator), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

/// Where the process is: its group in each of the trees that matter; empty: there is none.
struct GrantGroup::Membership {
  std::filesystem::path cpuset;
  std::filesystem::path memory;
  std::filesystem::path unified;

  static Membership read(const Options& options) {
    Membership found;
    const auto content = read_file(options.membership, 64_KiB);
    std::string_view text = content ? as_text(*content) : std::string_view();
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      found.add(line, options.mount);
    }
    return found;
  }

  /// "4:cpuset:/path" in version 1, "0::/path" in version 2.
  void add(std::string_view line, const std::filesystem::path& mount) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const auto group = std::filesystem::path(line.substr(second + 1)).relative_path();
    const auto below = [&](const std::filesystem::path& tree) {
      return group.empty() ? tree : tree / group;
    };
    if (has_word(controllers, "cpuset", ',')) cpuset = below(mount / "cpuset");
    if (has_word(controllers, "memory", ',')) memory = below(mount / "memory");
    std::error_code error;
    if (controllers.empty() && line.starts_with("0:"))
      unified =
          below(std::filesystem::exists(mount / "unified", error) ? mount / "unified" : mount);
  }
};

GrantGroup GrantGroup::enter(const Options& options) {
  GrantGroup group;
  group.process_ = options.process;
  const Membership where = Membership::read(options);
  const bool cores = !options.cores.empty();
  const bool memory = options.memory.has_value();
  if (cores && !where.cpuset.empty())
    group.bounds_cores_ = group.enter_version_1(options, where.cpuset, true);
  if (memory && !where.memory.empty() && group.enter_version_1(options, where.memory, false))
    group.memory_events_ = group.groups_.back().path / "memory.oom_control";
  const bool cores_left = cores && where.cpuset.empty();
  const bool memory_left = memory && where.memory.empty();
  if (!cores_left && !memory_left) return group;
  if (where.unified.empty()) {
    group.refusals_.emplace_back("this process is in no control group");
  } else if (group.enter_version_2(options, where.unified, cores_left, memory_left)) {
    group.bounds_cores_ = group.bounds_cores_ || cores_left;
    if (memory_left) group.memory_events_ = group.groups_.back().path / "memory.events";
  }
  return group;
}

GrantGroup::GrantGroup(GrantGroup&& other) noexcept
    : groups_(std::exchange(other.groups_, {})),
      process_(other.process_),
      left_(other.left_),
      bounds_cores_(other.bounds_cores_),
      memory_events_(std::move(other.memory_events_)),
      refusals_(std::move(other.refusals_)) {}

void GrantGroup::refuse(const std::string& what, const std::filesystem::path& where, int error) {
  refusals_.push_back(what + " " + where.string() + ": " + std::strerror(error));
}

bool GrantGroup::make(const Options& options, const std::filesystem::path& parent) {
  remove_stale(parent);
  const auto path = parent / (std::string(name_prefix) + std::to_string(options.process));
  // One that is there is left from an older process with our number.
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    refuse("cannot make", path, errno);
    return false;
  }
  groups_.push_back({.parent = parent, .path = path, .controllers = {}});
  return true;
}

bool GrantGroup::enter_version_1(const Options& options, const std::filesystem::path& parent,
                                 bool cores) {
  if (!make(options, parent)) return false;
  const auto path = groups_.back().path;
  std::vector<std::pair<std::string, std::string>> values;
  if (cores)
    values = {{"cpuset.mems", line_of(parent / "cpuset.mems")},
              {"cpuset.cpus", list_of(options.cores)}};
  else
    values = {{"memory.limit_in_bytes", std::to_string(options.memory->value)}};
  values.emplace_back("cgroup.procs", std::to_string(options.process));
  for (const auto& [file, value] : values) {
    const int error = put(path / file, value);
    if (error == 0) continue;
    refuse("cannot write " + value + " to", path / file, error);
    drop_last();
    return false;
  }
  return true;
}

/// A group that has processes of its own gives its controllers to no child: so the process moves
/// first, and the rest works only if it was alone there.
bool GrantGroup::enter_version_2(const Options& options, const std::filesystem::path& parent,
                                 bool cores, bool memory) {
  const std::string available = line_of(parent / "cgroup.controllers");
  const std::string enabled = line_of(parent / "cgroup.subtree_control");
  std::vector<std::pair<std::string, std::string>> values;
  std::string missing;
  for (const auto& [wanted, name] : {std::pair{cores, "cpuset"}, {memory, "memory"}})
    if (wanted && !has_word(available, name, ' '))
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  if (!missing.empty()) {
    refusals_.push_back(parent.string() + " has no controller " + missing);
    return false;
  }
  if (!make(options, parent)) return false;
  Group& group = groups_.back();
  if (cores) values.emplace_back("cpuset.cpus", list_of(options.cores));
  if (memory) values.emplace_back("memory.max", std::to_string(options.memory->value));
  int error = put(group.path / "cgroup.procs", std::to_string(options.process));
  std::filesystem::path at = group.path / "cgroup.procs";
  for (const auto& [wanted, name] : {std::pair{cores, "cpuset"}, {memory, "memory"}}) {
    if (error != 0 || !wanted || has_word(enabled, name, ' ')) continue;
    at = parent / "cgroup.subtree_control";
    error = put(at, std::string("+") + name);
    if (error == 0)
      group.controllers += (group.controllers.empty() ? "-" : " -") + std::string(name);
  }
  for (const auto& [file, value] : values) {
    if (error != 0) break;
    at = group.path / file;
    error = put(at, value);
  }
  if (error == 0) return true;
  if (error == EBUSY)
    refusals_.push_back(parent.string() +
                        " holds other processes too: a group that is delegated to the executor "
                        "alone can be divided");
  else
    refuse("cannot write to", at, error);
  drop_last();
  return false;
}

/// In version 1 the main thread moves itself alone: the kernel (since 5.5,
/// cgroup_procs_write_start) takes no lock for that; for a whole process it waits for all
/// processors, 10 ms to half a second. The group is removed when the process's other threads have
/// ended.
void GrantGroup::move_out_of(const Group& group) const {
  if (!group.controllers.empty())
    (void)put(group.parent / "cgroup.subtree_control", group.controllers);
  if (process_ == ::getpid() && put(group.parent / "tasks", "0") == 0) return;
  (void)put(group.parent / "cgroup.procs", std::to_string(process_));
}

void GrantGroup::leave() {
  if (std::exchange(left_, true)) return;
  for (const Group& group : groups_ | std::views::reverse) move_out_of(group);
}

void GrantGroup::drop_last() {
  const Group group = std::move(groups_.back());
  groups_.pop_back();
  if (!left_) move_out_of(group);
  const auto give_up = std::chrono::steady_clock::now() + removal_patience;
  while (::rmdir(group.path.c_str()) != 0 && errno == EBUSY &&
         std::chrono::steady_clock::now() < give_up)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

GrantGroup::~GrantGroup() {
  while (!groups_.empty()) drop_last();
}

std::uint64_t GrantGroup::memory_kills() const {
  if (memory_events_.empty()) return 0;
  const auto content = read_file(memory_events_, 64_KiB);
  if (!content) return 0;
  constexpr std::string_view key = "oom_kill ";
  std::string_view text = as_text(*content);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(key)) continue;
    if (const auto kills = leading_number<std::uint64_t>(line.substr(key.size()))) return *kills;
  }
  return 0;
}

}  // namespace orchid::executor
