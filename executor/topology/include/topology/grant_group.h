// topology/grant_group.h: the control group that holds an executor and all that it starts, where
// the one that it was started in may be divided.
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "foundation/units.h"

namespace orchid::executor {

/// Bounds cores and memory of this process, its threads and all its children together, versions 1
/// and 2. What may not be written is left as it is: `refusals` says what, and why. The destructor
/// puts the process back to where it was and removes the groups; children have to have ended by
/// then, or do so within a second. A process that is killed leaves its groups behind: the next one
/// that makes some beside them removes those whose process has gone.
class GrantGroup {
 public:
  struct Options {
    std::vector<std::uint32_t> cores;  // of all its processes; empty: not bounded
    std::optional<ByteCount> memory;   // of all its processes together; nothing: not bounded
    pid_t process = ::getpid();        // the one to put into the group; names it, too
    std::filesystem::path membership = "/proc/self/cgroup";
    std::filesystem::path mount = "/sys/fs/cgroup";
  };
  [[nodiscard]] static GrantGroup enter(const Options& options);
  GrantGroup(GrantGroup&& other) noexcept;
  GrantGroup& operator=(GrantGroup&&) = delete;
  GrantGroup(const GrantGroup&) = delete;
  GrantGroup& operator=(const GrantGroup&) = delete;
  ~GrantGroup();

  [[nodiscard]] bool bounds_cores() const { return bounds_cores_; }
  [[nodiscard]] bool bounds_memory() const { return !memory_events_.empty(); }
  /// "cpuset: ...: Permission denied", for a line in the log.
  [[nodiscard]] const std::vector<std::string>& refusals() const { return refusals_; }
  /// Moves the process back; others stay inside until they end. In version 2 the kernel takes 10 to
  /// 25 ms for it, which the destructor, that removes the group, need not wait for then.
  void leave();
  /// How many processes the kernel has killed in it for want of memory; 0 where it does not say.
  [[nodiscard]] std::uint64_t memory_kills() const;

 private:
  struct Group {
    std::filesystem::path parent;
    std::filesystem::path path;
    std::string controllers;  // that were enabled for it in its parent: "-cpuset -memory"
  };
  struct Membership;
  GrantGroup() = default;
  [[nodiscard]] bool enter_version_1(const Options& options, const std::filesystem::path& parent,
                                     bool cores);
  [[nodiscard]] bool enter_version_2(const Options& options, const std::filesystem::path& parent,
                                     bool cores, bool memory);
  [[nodiscard]] bool make(const Options& options, const std::filesystem::path& parent);
  void move_out_of(const Group& group) const;
  void drop_last();
  void refuse(const std::string& what, const std::filesystem::path& where, int error);

  std::vector<Group> groups_;
  pid_t process_ = -1;
  bool left_ = false;
  bool bounds_cores_ = false;
  std::filesystem::path memory_events_;
  std::vector<std::string> refusals_;
};

}  // namespace orchid::executor
