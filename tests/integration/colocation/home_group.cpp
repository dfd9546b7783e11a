#include "home_group.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <utility>

#include "colocation_site.h"

namespace orchid::tests {
namespace {

namespace fs = std::filesystem;

/// The group of this process in the tree of `controller`, and whether that is one of version 2.
struct OwnGroup {
  fs::path path;
  bool unified = false;
};

std::optional<OwnGroup> own_group(const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  std::optional<OwnGroup> found;
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path below = fs::path(line.substr(second + 1)).relative_path();
    const fs::path mount = "/sys/fs/cgroup";
    if (controllers == controller) return OwnGroup{mount / controller / below, false};
    if (controllers.empty())
      found = {fs::exists(mount / "unified") ? mount / "unified" / below : mount / below, true};
  }
  return found;
}

bool put(const fs::path& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text << std::flush;
  return stream.good();
}

}  // namespace

std::optional<HomeGroup> HomeGroup::make(const std::string& controller) {
  const auto own = own_group(controller);
  if (!own) return std::nullopt;
  const fs::path made = own->path / ("orchid-test-" + std::to_string(::getpid()));
  if (::mkdir(made.c_str(), 0755) != 0) return std::nullopt;
  HomeGroup home;
  home.group_ = made;
  home.made_ = made;
  if (!own->unified) {
    const bool writable = ::access((made / "cgroup.procs").c_str(), W_OK) == 0;
    ::rmdir(std::exchange(home.made_, {}).c_str());
    home.group_ = own->path;
    return writable ? std::optional(std::move(home)) : std::nullopt;
  }
  // As systemd does for a unit with Delegate=yes.
  (void)put(own->path / "cgroup.subtree_control", "+cpuset +memory");
  if (text_of(made / "cgroup.controllers").find(controller) == std::string::npos)
    return std::nullopt;
  return home;
}

HomeGroup::HomeGroup(HomeGroup&& other) noexcept
    : group_(std::move(other.group_)), made_(std::exchange(other.made_, {})) {}

HomeGroup::~HomeGroup() {
  if (made_.empty()) return;
  (void)eventually([this] {
    std::istringstream left(text_of(made_ / "cgroup.procs"));
    for (pid_t pid = 0; left >> pid;) ::kill(pid, SIGKILL);
    return ::rmdir(made_.c_str()) == 0;
  });
}

std::vector<std::string> HomeGroup::launcher(const std::string& beside) const {
  if (version() == 1) return {};
  const std::string enter = "echo $$ > " + (group_ / "cgroup.procs").native();
  return {"sh", "-c", enter + " || exit\n" + beside + "\nexec \"$@\"", "sh"};
}

fs::path HomeGroup::group_of(pid_t executor) const {
  return group_ / ("orchid-" + std::to_string(executor));
}

std::string HomeGroup::memory_limit_file() const {
  return version() == 1 ? "memory.limit_in_bytes" : "memory.max";
}

}  // namespace orchid::tests
