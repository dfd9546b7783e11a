// shares/detached_step.h: srun in the background: it goes on when whoever started it has ended.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "foundation/result.h"

namespace orchid::cli {

/// Owned by main's thread. Nothing happens to the process when this object goes.
class DetachedStep {
 public:
  /// In a session of its own; what it prints goes to the end of `log`. Errors: `system`.
  [[nodiscard]] static Result<DetachedStep> start(const std::vector<std::string>& words,
                                                  const std::vector<std::string>& environment,
                                                  const std::filesystem::path& log);
  /// Its wait status, once it has ended. Never blocks.
  [[nodiscard]] std::optional<int> ended() const;
  /// What it has printed, the last of it.
  [[nodiscard]] std::string said() const;

 private:
  DetachedStep(pid_t pid, std::filesystem::path log, std::uintmax_t begin)
      : pid_(pid), log_(std::move(log)), begin_(begin) {}
  pid_t pid_;
  std::filesystem::path log_;
  std::uintmax_t begin_;  // of what it prints, in the log
};

}  // namespace orchid::cli
