// pilot/pilot_controller.h: how many pilots there should be: follows the demand, slowly enough not
// to flap, and never fills the queue. No I/O and no clock: the gateway and a simulation use it.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"

namespace orchid::pilot {

struct PilotOptions {
  std::uint32_t most_queued = 16;      // pilots that wait, at most
  std::uint32_t most_running = 64;     // and that run; those that wait are counted as if they did
  std::uint32_t most_cores = 64;       // of one pilot, on its one node
  std::uint32_t least_cores = 1;       // a smaller hole is not worth a pilot
  std::chrono::seconds shortest{120};  // a pilot's time; a shorter hole is left alone
  std::chrono::seconds longest{3600};
  std::chrono::seconds grow_after{2};     // so long demand has to last
  std::chrono::seconds shrink_after{60};  // so long a pilot has to be idle
  std::chrono::seconds renew_before{60};  // the end of a pilot that is used
  std::chrono::seconds missed_after{10};  // so long a pilot waits for a hole that is gone
  std::chrono::seconds first_pause{5};    // after a submission that failed; doubles
  std::chrono::seconds longest_pause{600};
};
/// Errors: `bad_configuration`.
[[nodiscard]] Result<void> check(const PilotOptions& options);

/// A pilot that waits or runs, whoever started it.
struct Pilot {
  std::uint64_t job = 0;
  std::uint32_t cores = 0;
  bool runs = false;
  /// Its executor has joined: its cores are placed on. One that runs without that is about to.
  bool joined = false;
  std::uint32_t cores_used = 0;
  std::optional<MonotonicTime> ends;  // of one that runs; nothing: not known
  std::string node;                   // that it runs on or waits for; "": any
};

/// What of a node nobody has, and how long that lasts. Of several holes of one
/// node, the first that is long enough counts.
struct Hole {
  std::string node;
  std::uint32_t cores = 0;
  std::optional<std::chrono::seconds> lasts;  // nothing: no end is known
};

struct Situation {
  std::uint32_t cores_wanted = 0;  // by calls and leases that have found no place
  std::vector<Pilot> pilots;
  /// Nothing: it is not known what is free.
  std::optional<std::vector<Hole>> holes;
};

struct SubmitPilot {
  std::uint32_t cores = 0;
  std::chrono::seconds time{0};
  std::string node;  // "": any
  friend bool operator==(const SubmitPilot&, const SubmitPilot&) = default;
};
struct CancelPilot {
  std::uint64_t job = 0;
  friend bool operator==(const CancelPilot&, const CancelPilot&) = default;
};
using PilotAction = std::variant<SubmitPilot, CancelPilot>;

/// Owned by one thread.
class PilotController {
 public:
  /// `options` have been checked.
  explicit PilotController(PilotOptions options);
  /// To be called whenever something has changed, and every second or so. What it asks for is taken
  /// as done, so the next situation has to show it; a submission that failed is to be told.
  [[nodiscard]] std::vector<PilotAction> decide(MonotonicTime now, Situation situation);
  void submission_failed(MonotonicTime now);
  void submission_done() { pause_ = options_.first_pause; }
  [[nodiscard]] const PilotOptions& options() const { return options_; }

 private:
  [[nodiscard]] bool is_ending(MonotonicTime now, const Pilot& pilot) const;
  [[nodiscard]] std::uint32_t missing_cores(MonotonicTime now, const Situation& situation);
  void cancel_idle(MonotonicTime now, const Situation& situation,
                   std::vector<PilotAction>& actions);
  void cancel_missed(MonotonicTime now, Situation& situation, std::vector<PilotAction>& actions);
  [[nodiscard]] std::chrono::seconds next_length();
  [[nodiscard]] std::chrono::seconds longest_mixed(std::chrono::seconds room) const;

  PilotOptions options_;
  std::vector<std::chrono::seconds> lengths_;  // longest first
  std::size_t next_length_ = 0;
  std::optional<MonotonicTime> short_since_;  // of cores
  std::optional<MonotonicTime> paused_until_;
  std::chrono::seconds pause_;
  std::map<std::uint64_t, MonotonicTime> idle_since_;    // pilots, by job
  std::map<std::uint64_t, MonotonicTime> missed_since_;  // those whose hole is gone
};

}  // namespace orchid::pilot
