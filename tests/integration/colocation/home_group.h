// colocation/home_group.h: a control group that an executor may divide, as whoever starts one on a
// machine gives it: in version 1 any that may be written, in version 2 one that it has for itself.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace orchid::tests {

/// Removed at the end, with the processes that are still in it.
class HomeGroup {
 public:
  /// For `controller`, "cpuset" or "memory", in the tree that has it. Nothing: none may be made
  /// here, which the test says then.
  [[nodiscard]] static std::optional<HomeGroup> make(const std::string& controller);
  HomeGroup(HomeGroup&& other) noexcept;
  HomeGroup& operator=(HomeGroup&&) = delete;
  HomeGroup(const HomeGroup&) = delete;
  HomeGroup& operator=(const HomeGroup&) = delete;
  ~HomeGroup();

  [[nodiscard]] int version() const { return made_.empty() ? 1 : 2; }
  /// What stands before the command line of an executor that is to begin there. Version 2 only:
  /// `beside`, a command of the shell, is run there before.
  [[nodiscard]] std::vector<std::string> launcher(const std::string& beside = ":") const;
  /// What an executor makes there.
  [[nodiscard]] std::filesystem::path group_of(pid_t executor) const;
  [[nodiscard]] std::string memory_limit_file() const;

 private:
  HomeGroup() = default;
  std::filesystem::path group_;
  std::filesystem::path made_;  // the same, if it is to be removed
};

}  // namespace orchid::tests
