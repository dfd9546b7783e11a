// supervisor/health_probe.h: asks the gateway's Unix socket, again and again, whether it still
// answers.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>

#include "foundation/clock.h"
#include "foundation/unique_fd.h"

namespace orchid::cli {

/// Owned by the supervisor's thread. Nothing here blocks.
class HealthProbe {
 public:
  explicit HealthProbe(std::filesystem::path socket) : socket_(std::move(socket)) {}
  /// Asks when it is time, and takes what has come. True: an answer came since the last turn.
  [[nodiscard]] bool turn(MonotonicTime now);
  /// When `turn` has something to ask.
  [[nodiscard]] MonotonicTime due() const { return next_question_; }
  /// Readable when an answer comes; -1: nothing was asked.
  [[nodiscard]] int descriptor() const { return connection_.get(); }
  /// The gateway is gone or new: what was asked counts no more.
  void forget() { connection_.reset(); }

 private:
  void ask();
  [[nodiscard]] bool take_answer();
  std::filesystem::path socket_;
  UniqueFd connection_;
  MonotonicTime next_question_;
};

}  // namespace orchid::cli
