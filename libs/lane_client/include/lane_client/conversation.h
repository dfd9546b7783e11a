// lane_client/conversation.h: where a client stands with the executor of a worker (docs/PROTOCOL.md
// §3), and what it does when the executor's next word does not come.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "foundation/clock.h"
#include "foundation/result.h"

namespace orchid::lane_client {

enum class LanePhase : std::uint8_t {
  claiming,
  ready,
  losing,     // the lane is of no use; the executor's word on what became of the worker is to come
  replacing,  // another worker is to come
  dead,
};

/// What the driver has to do now.
enum class Step : std::uint8_t {
  none,
  ask,      // tell the executor to replace the worker, with `trouble` as the reason
  replace,  // the same, and take the calls out of the lane: their worker is given up
  end,      // end the lane: `trouble` says why
};

/// Owned by who drives the lane. Others may read `phase` and `is_timed`.
class Conversation {
 public:
  /// For who has just sent a claim, or is about to. `claim_due`: max when somebody else bounds it.
  explicit Conversation(MonotonicTime claim_due = MonotonicTime::max()) : due_(claim_due) {}

  [[nodiscard]] LanePhase phase() const { return phase_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_ready() const {
    return phase_.load(std::memory_order_relaxed) == LanePhase::ready;
  }
  /// When `expire` has something to do; max: never.
  [[nodiscard]] MonotonicTime due() const { return due_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_timed() const { return due() != MonotonicTime::max(); }
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  /// The executor has a worker. Its lane is being opened, which takes as long as it takes.
  void announced();
  void opened();
  /// The announced worker may have died meanwhile: then the next one comes.
  [[nodiscard]] Step opening_failed(const Failure& why, MonotonicTime now);
  /// The lane does not work. If it led to another host the executor knows what became of the worker
  /// and says so, unless it is gone as well.
  [[nodiscard]] Step broken(const Failure& why, MonotonicTime now);
  /// The driver wants no more of this worker.
  [[nodiscard]] Step give_up(std::string reason, MonotonicTime now);
  /// The executor said that the worker has ended, and makes another one after a pause.
  void ended(MonotonicTime now, std::chrono::milliseconds pause);
  [[nodiscard]] Step expire(MonotonicTime now);
  void die();

 private:
  void await(MonotonicTime due, bool is_last);

  std::atomic<LanePhase> phase_{LanePhase::claiming};
  std::atomic<MonotonicTime> due_;
  bool is_last_ = true;  // nothing more is tried when that has passed
  bool was_heard_ = false;
  unsigned failed_openings_ = 0;
  std::string trouble_ = "the executor does not answer a claim";
};

}  // namespace orchid::lane_client
