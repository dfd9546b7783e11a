// pilot/submission_gate.h: one submits pilots of a gateway at a time; and who has ended all of
// them wants no others by demand at once.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::pilot {

/// A file in the gateway's state directory says until when, and since when (milliseconds since
/// 1970); who submits by demand has it locked meanwhile. Any thread.
class SubmissionGate {
 public:
  using SystemTime = std::chrono::system_clock::time_point;
  /// A pause that began before `since`, the start of a gateway, is over.
  explicit SubmissionGate(const std::filesystem::path& state, SystemTime since = {})
      : file_(state / "pilots-paused"), since_(since) {}

  /// When it returns no submission is under way, and from `begin` until `end` none begins. Errors:
  /// `system`, `denied`, `timed_out` (after `patience` one is under way still).
  [[nodiscard]] Result<void> pause(SystemTime begin, SystemTime end,
                                   std::chrono::milliseconds patience) const;
  /// For who submits because somebody has said so, pause or not: nobody else submits meanwhile.
  /// Errors: as of `pause`.
  [[nodiscard]] Result<UniqueFd> enter(std::chrono::milliseconds patience) const;
  /// Nothing while there is a pause; otherwise none begins as long as this is held. Errors:
  /// `system`, `denied`.
  [[nodiscard]] Result<std::optional<UniqueFd>> enter_unless_paused(SystemTime now) const;

 private:
  std::filesystem::path file_;
  SystemTime since_;
};

}  // namespace orchid::pilot
