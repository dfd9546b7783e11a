// pilot/pilot_controller.h: how many pilots there should be, and how large: follows the demand,
// slowly enough not to flap, and never fills the queue. No I/O and no clock: the gateway and a
// simulation use it.
//
// A worker lies within one pilot. So a pilot is at least as wide (cores, memory, GPUs) as the
// widest worker that it is for, and what is free in several does not add up.
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
#include "foundation/units.h"
#include "pilot/hole_watch.h"
#include "pilot/room.h"

namespace orchid::pilot {

struct PilotOptions {
  std::uint32_t most_queued = 16;      // pilots that wait, at most
  std::uint32_t most_running = 64;     // and that run; those that wait are counted as if they did
  std::uint32_t most_cores = 64;       // of one pilot, on its one node
  std::uint32_t least_cores = 1;       // a smaller hole is not worth a pilot
  ByteCount memory_per_core;           // of a pilot, at least; 0: what its workers want
  std::chrono::seconds shortest{120};  // a pilot's time; a shorter hole is left alone
  std::chrono::seconds longest{3600};
  std::chrono::seconds grow_after{2};        // so long demand has to last
  std::chrono::seconds shrink_after{60};     // so long a pilot has to be idle
  std::chrono::seconds renew_before{60};     // the end of a pilot that is used
  std::chrono::seconds missed_after{10};     // so long a pilot waits for a hole that is gone
  std::chrono::seconds no_room_after{180};   // several of backfill's intervals (30 s by default)
  std::chrono::seconds no_start_after{300};  // a pilot waits for a hole that seems to be there
  std::chrono::seconds join_within{180};     // of one that runs; later it has failed
  std::chrono::seconds first_pause{5};       // after a pilot that failed; doubles
  std::chrono::seconds longest_pause{600};
  std::chrono::seconds avoid_node_for{600};  // on which a pilot has failed
};
/// Errors: `bad_configuration`.
[[nodiscard]] Result<void> check(const PilotOptions& options);

/// A pilot that waits or runs, whoever started it.
struct Pilot {
  std::uint64_t job = 0;
  std::uint32_t cores = 0;
  bool runs = false;
  /// Its executor has joined: its cores are placed on. One that runs without that is about to, or
  /// was there before.
  bool joined = false;
  std::uint32_t cores_used = 0;
  std::optional<MonotonicTime> ends;  // of one that runs; nothing: not known
  std::string node;                   // that it runs on or waits for; "": any
  std::optional<ByteCount> memory{};  // nothing: not known
  ByteCount memory_used{};
  std::uint32_t gpus = 0;
  std::uint32_t gpus_used = 0;
  std::string gpu_model{};
  std::uint32_t widest_worker = 0;      // cores of the widest of its workers
  std::vector<std::string> features{};  // that it was asked with, where its node is not known
  bool for_hole = true;    // it waits for what was free of its node; false: for whatever comes free
  bool no_room = false;    // the batch system has tried to start it, and found no room
  bool suspended = false;  // by the batch system, as long as that likes
  bool configuring = false;  // its node is being booted or made ready for it
};

/// What of a node nobody has, and how long that lasts. Of several holes of one
/// node, the first that is long enough counts.
struct Hole {
  std::string node;
  std::uint32_t cores = 0;
  std::optional<std::chrono::seconds> lasts;  // nothing: no end is known
  std::optional<ByteCount> memory{};          // nothing: not known
  std::uint32_t gpus = 0;
};

struct Situation {
  std::vector<WorkerDemand> demand;  // of calls and leases that have found no place
  std::vector<Pilot> pilots;
  /// Nothing: it is not known what is free.
  std::optional<std::vector<Hole>> holes;
  /// All that pilots could get, free or not. Nothing: not known.
  std::optional<std::vector<Node>> nodes{};
};

struct SubmitPilot {
  std::uint32_t cores = 0;
  std::chrono::seconds time{0};
  std::string node{};  // "": any
  ByteCount memory{};  // 0: what the batch system gives for so many cores
  std::uint32_t gpus = 0;
  std::string gpu_model{};
  std::vector<std::string> features{};  // of its node, where `node` does not say which
  bool for_hole = true;                 // false: nothing is free for it now
  friend bool operator==(const SubmitPilot&, const SubmitPilot&) = default;
};
enum class CancelReason : std::uint8_t {
  unused,
  missed,        // what it waits for is gone, or not given
  never_joined,  // within the time for that
};
struct CancelPilot {
  std::uint64_t job = 0;
  CancelReason why = CancelReason::unused;
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
  /// One was refused, or has left the queue and its executor has never joined: there is a pause,
  /// and `node` is left alone for longer ("": it is not known, or not the reason). Several in one
  /// pause count as one. One that `decide` cancels since it has never joined is counted there.
  void pilot_failed(MonotonicTime now, const std::string& node);
  /// The executor of one more: the next pause is the first again.
  void pilot_joined() { pause_ = options_.first_pause; }
  /// The batch system will never start pilots of that time: later ones are shorter. False: the
  /// shortest is too long, too.
  [[nodiscard]] bool time_is_too_long(std::chrono::seconds time);
  [[nodiscard]] const PilotOptions& options() const { return options_; }

  /// Of the demand of the last decision: what no pilot could serve, and why, for people.
  [[nodiscard]] const std::vector<std::string>& hopeless() const { return hopeless_; }

 private:
  [[nodiscard]] std::vector<WorkerDemand> servable(const Situation& situation);
  [[nodiscard]] std::optional<std::string> why_never(const WorkerDemand& row,
                                                     const WorkerShape& size,
                                                     const Situation& situation) const;
  [[nodiscard]] std::vector<WorkerDemand> missing(MonotonicTime now, const Situation& situation,
                                                  const std::vector<WorkerDemand>& demand);
  void cancel_idle(MonotonicTime now, const Situation& situation,
                   const std::vector<WorkerDemand>& demand, std::vector<PilotAction>& actions);
  void cancel_missed(MonotonicTime now, Situation& situation, std::vector<PilotAction>& actions);
  void give_up(MonotonicTime now, Situation& situation, std::vector<PilotAction>& actions);
  [[nodiscard]] bool gives_room(const Pilot& pilot) const;
  [[nodiscard]] bool is_ending(MonotonicTime now, const Pilot& pilot) const;
  void submit_to_holes(const Situation& situation, std::vector<WorkerDemand>& left,
                       std::uint64_t& may_submit, std::vector<PilotAction>& actions) const;
  void submit_to_wait(const Situation& situation, std::vector<WorkerDemand>& left,
                      std::uint64_t may_submit, std::vector<PilotAction>& actions);
  [[nodiscard]] std::chrono::seconds next_length(std::chrono::milliseconds lifetime);
  [[nodiscard]] std::chrono::seconds longest_mixed(std::chrono::seconds room) const;

  struct Arrival {
    MonotonicTime since;   // it runs
    bool is_over = false;  // its executor has joined, or nobody waits for it any more
  };

  PilotOptions options_;
  std::vector<std::chrono::seconds> lengths_;  // longest first
  std::size_t next_length_ = 0;
  std::optional<MonotonicTime> short_since_;  // of capacity
  std::optional<MonotonicTime> paused_until_;
  std::chrono::seconds pause_;
  std::map<std::uint64_t, Arrival> arrivals_;           // of pilots that run, by job
  std::map<std::uint64_t, MonotonicTime> idle_since_;   // pilots, by job
  HoleWatch holes_;                                     // of pilots that wait
  std::map<std::string, MonotonicTime> avoided_until_;  // nodes
  std::vector<std::string> hopeless_;
};

}  // namespace orchid::pilot
