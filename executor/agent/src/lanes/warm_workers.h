// lanes/warm_workers.h: what the agent asks of workers that sleep. A place of the gateway's keeps a
// worker for each of several modules; one of them runs, the others keep their state and nothing
// else.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "foundation/clock.h"
#include "foundation/units.h"
#include "worker/status_page.h"
#include "workers/link_work.h"

namespace orchid::executor {

/// Of one worker, from its claim on. Pure; owned by the agent's thread.
class SleepWatch {
 public:
  /// What a worker may use of a processor while it sleeps: for a turn of its lane, a message of the
  /// agent, the network's signs of life.
  static constexpr std::chrono::milliseconds free_time{50};
  static constexpr int share = 100;  // and a hundredth of the time beyond that
  /// What it may use instead while it links code that the agent has given it, or may be sending.
  static constexpr std::chrono::seconds link_time{1};

  /// `word`: of its status page. `used`: processor time, from its birth on. True: it works, though
  /// there is nothing to run.
  [[nodiscard]] bool is_restless(std::uint64_t word, const LinkWork& work,
                                 std::chrono::nanoseconds used, MonotonicTime now) {
    if (!is_in_call(run_state_of(word)))
      runs_since_.reset();
    else if (word != word_)
      runs_since_ = now;
    if (word == word_ && work == work_ && run_state_of(word) == RunState::idle)
      return used - used_before_ >
             (work.waits ? link_time : free_time) + (now - asleep_since_) / share;
    word_ = word;
    work_ = work;
    used_before_ = used;
    asleep_since_ = now;
    return false;
  }
  /// When it was last seen to run, or to have run since the look before.
  [[nodiscard]] MonotonicTime last_run() const { return asleep_since_; }
  [[nodiscard]] bool sleeps(MonotonicTime now) const { return asleep_since_ != now; }
  /// When the call that it says it runs was first seen; nothing: it runs none.
  [[nodiscard]] std::optional<MonotonicTime> runs_since() const { return runs_since_; }

 private:
  std::uint64_t word_ = ~std::uint64_t{0};
  LinkWork work_;
  std::chrono::nanoseconds used_before_{0};
  MonotonicTime asleep_since_;
  std::optional<MonotonicTime> runs_since_;
};

/// One worker of a place.
struct WarmWorker {
  ByteCount memory;
  MonotonicTime last_run;
  bool sleeps = false;
  std::optional<MonotonicTime> runs_since = std::nullopt;
};
/// One worker of a place runs at a time. Which of them break that rule: all that were seen in the
/// same call before, but for the one that began last.
[[nodiscard]] std::vector<std::size_t> intruders(std::span<const WarmWorker> workers,
                                                 MonotonicTime now);
/// Which of them have to go, so that all together keep no more than `limit`: those that ran longest
/// ago, and none that does not sleep.
[[nodiscard]] std::vector<std::size_t> give_way(std::span<const WarmWorker> workers,
                                                ByteCount limit);

}  // namespace orchid::executor
