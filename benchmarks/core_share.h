// benchmarks/core_share.h: processes that have a part of a core's time.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <utility>

#include "foundation/result.h"

namespace orchid::bench {

/// A group of the kernel's CPU controller, version 1 or 2, which ends with its owner, if its
/// processes have ended by then.
class CoreShare {
 public:
  /// `percent` of one core, in slices of some milliseconds. Errors: `system`: there is no such
  /// controller, or no right to it.
  [[nodiscard]] static Result<CoreShare> make(int percent);
  CoreShare(CoreShare&& other) noexcept = default;
  CoreShare& operator=(CoreShare&&) = delete;
  ~CoreShare();

  /// With all its threads.
  [[nodiscard]] Result<void> add(pid_t process) const;

 private:
  explicit CoreShare(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;  // empty: moved from
};

}  // namespace orchid::bench
