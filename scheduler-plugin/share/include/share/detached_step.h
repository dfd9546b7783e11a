// share/detached_step.h: srun in the background: it goes on when whoever started it has ended.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "processes/child_process.h"

namespace orchid::share {

/// Owned by main's thread. Nothing happens to the process when this object goes.
class DetachedStep {
 public:
  DetachedStep(DetachedStep&&) = default;
  DetachedStep& operator=(DetachedStep&&) = delete;
  ~DetachedStep() { (void)process_.release(); }
  /// In a session of its own; what it prints goes to the end of `log`. Errors: `system`.
  [[nodiscard]] static Result<DetachedStep> start(const std::vector<std::string>& words,
                                                  const std::vector<std::string>& environment,
                                                  const std::filesystem::path& log);
  /// Never blocks.
  [[nodiscard]] bool ended();
  /// What it has printed, the last of it.
  [[nodiscard]] std::string said() const;

 private:
  DetachedStep(processes::ChildProcess process, std::filesystem::path log, std::uintmax_t begin)
      : process_(std::move(process)), log_(std::move(log)), begin_(begin) {}
  processes::ChildProcess process_;
  std::filesystem::path log_;
  std::uintmax_t begin_;  // of what it prints, in the log
};

}  // namespace orchid::share
