// core_team.h: the same kernels on all cores of this machine, without Orchid.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "foundation/result.h"
#include "problems.h"

namespace orchid::gpu_check {

/// The kernels' code for this machine's cores; stays loaded.
class CoreTeam {
 public:
  /// `folder`: has cores-x86-64-v3.so and -v4.so. Errors: `unsupported`: the machine is too old;
  /// `not_found`.
  [[nodiscard]] static Result<CoreTeam> load(const std::filesystem::path& folder);

  /// A thread for each core that we may use. `launches`: the arguments of each of them; they run in
  /// any order, and at once. Errors: `not_found`: there is no such kernel.
  struct Work {
    const char* kernel = nullptr;
    std::span<const Arguments> launches;
    std::uint64_t items = 0;  // of each launch
    std::uint64_t group_size = 1;
  };
  [[nodiscard]] Result<void> run(const Work& work) const;
  [[nodiscard]] unsigned cores() const { return cores_; }
  /// "x86-64-v4"
  [[nodiscard]] const std::string& level() const { return level_; }

 private:
  CoreTeam(void* library, std::string level, unsigned cores)
      : library_(library), level_(std::move(level)), cores_(cores) {}
  void* library_;
  std::string level_;
  unsigned cores_;
};

}  // namespace orchid::gpu_check
