// pilot/ending.h: what tells a process that looks after pilots to end.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "foundation/unique_fd.h"

namespace orchid::pilot {

/// SIGINT and SIGTERM, which it blocks for good, and the end of the standard input for whoever is
/// started by a program. Owned by main's thread.
class Ending {
 public:
  enum class Reason : std::uint8_t { signal, input };
  explicit Ending(bool with_input);
  /// Waits for it, for `time` at most; nothing in the time: for as long as it takes.
  [[nodiscard]] std::optional<Reason> comes_within(
      std::optional<std::chrono::milliseconds> time) const;
  /// From now on the input counts no more.
  void forget_input() { with_input_ = false; }

 private:
  bool with_input_;
  UniqueFd signals_;
};

}  // namespace orchid::pilot
