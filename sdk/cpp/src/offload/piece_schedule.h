// offload/piece_schedule.h: who computes which piece of a range, as plain data: no clock, no
// threads, no calls.
//
// Guided self-scheduling (Polychronopoulos and Kuck 1987) with the weights of adaptive weighted
// factoring (Banicescu, Velusamy and Devaprasad 2003): a participant that asks gets half of its
// share of what is left, by its smoothed measured speed, transfers included. Pieces thus shrink
// towards the end. There, local participants also compute in parts what workers still have: a
// piece's result is the worker's or that of all its parts together, whichever is complete first.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "offload/worker_gain.h"
#include "orchid/offload.h"

namespace orchid::sdk {

enum class ParticipantId : std::uint32_t {};
enum class AssignmentId : std::uint64_t {};
enum class PieceId : std::uint64_t { none = 0 };
enum class ParticipantKind : std::uint8_t {
  local,
  worker,          // has cores of its own
  sharing_worker,  // of this host: it may take a core from a local participant
};

/// Belongs to whoever holds its run's lock. Times are of any one clock.
class PieceSchedule {
 public:
  using Time = std::chrono::nanoseconds;
  struct Limits {
    Time shortest;  // below, asking costs too much
    Time longest;   // above, losing one costs too much
  };
  struct Options {
    std::size_t count = 0;
    // A local piece's results are to be copied while they are in the cache.
    Limits local{std::chrono::microseconds(50), std::chrono::microseconds(400)};
    Limits worker{std::chrono::microseconds(500), std::chrono::milliseconds(10)};
    WorkerGain gain{};  // what is known from an earlier run
  };
  struct Assignment {
    AssignmentId id;
    OffloadRange range;
  };
  enum class Verdict : std::uint8_t {
    apply,        // this result counts; what was held for its piece does not
    apply_parts,  // this one and all that was held for its piece
    hold,         // perhaps later: keep it for its piece
    drop,         // another one was first
  };
  struct Judgement {
    Verdict verdict;
    PieceId piece;
  };
  enum class Retry : std::uint8_t { anywhere, locally };
  struct Counts {
    std::size_t local_items = 0;
    std::size_t worker_items = 0;
    std::size_t pieces = 0;
    std::size_t repeated = 0;  // parts of what a worker had
  };

  explicit PieceSchedule(const Options& options);

  ParticipantId add(ParticipantKind kind);
  /// What it works on is done by others.
  void remove(ParticipantId participant);
  /// Nothing: there is nothing for it now; ask again after any other change, or at `rest_end`.
  [[nodiscard]] std::optional<Assignment> next(ParticipantId participant, Time now);
  /// A worker's piece was too large for its lane: it keeps the first `items`, at least one.
  Assignment shrink(AssignmentId assignment, std::size_t items);
  /// `busy`: of the time since `next`, what the participant computed: without waiting for a core,
  /// without transfers.
  [[nodiscard]] Judgement finish(AssignmentId assignment, Time now, Time busy);
  /// No result will come.
  void give_back(AssignmentId assignment, Retry retry);

  /// How long the host's processors have been idle, all together, since any time.
  void host_idle(Time idle, Time now);

  /// Each index has a result that counts.
  [[nodiscard]] bool finished() const { return settled_items_ == options_.count; }
  /// Until when workers that share cores have nothing to do, if they have not.
  [[nodiscard]] std::optional<Time> rest_end(Time now) const { return gain_.rest_end(now); }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] const WorkerGain& gain() const { return gain_; }

 private:
  struct Participant {
    ParticipantKind kind;
    bool present = true;
    double speed = 0;       // items per ns with all that it takes, smoothed; 0: not known yet
    double busy_speed = 0;  // the same while it computes
    bool measured = false;  // by a piece that was long enough
    std::size_t last_size = 0;
  };
  struct Given {
    ParticipantId participant;
    OffloadRange range;
    PieceId piece;  // none: nobody else may work on it
    bool part;
    Time start;
  };
  /// What a worker has, or had when parts of it were started.
  struct Piece {
    OffloadRange range;
    std::size_t next_part;       // parts below it were given out
    std::size_t parts_done = 0;  // items
  };

  [[nodiscard]] std::size_t size_for(const Participant& participant, std::size_t left) const;
  [[nodiscard]] double total_speed() const;
  [[nodiscard]] double usual_local_speed() const;
  [[nodiscard]] OffloadRange take(std::vector<OffloadRange>& from, std::size_t size);
  [[nodiscard]] OffloadRange take_fresh(const Participant& participant);
  [[nodiscard]] Assignment give(ParticipantId to, OffloadRange range, PieceId piece, bool part,
                                Time now);
  [[nodiscard]] std::optional<Assignment> next_part(ParticipantId to, Time now);
  [[nodiscard]] Judgement finish_part(const Given& given);
  void measure(const Given& given, Time now, Time busy);
  [[nodiscard]] std::size_t free_items() const;

  const Options options_;
  WorkerGain gain_;
  std::vector<Participant> participants_;
  std::map<AssignmentId, Given> given_;
  std::map<PieceId, Piece> pieces_;       // not settled
  std::vector<OffloadRange> returned_;    // for anybody
  std::vector<OffloadRange> local_only_;  // failed on a worker
  std::size_t next_index_ = 0;            // from here on nothing was given out
  std::size_t settled_items_ = 0;
  std::uint64_t last_id_ = 0;
  Counts counts_;
};

}  // namespace orchid::sdk
