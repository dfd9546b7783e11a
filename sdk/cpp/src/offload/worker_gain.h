// offload/worker_gain.h: whether workers of the own host add anything, or only take their cores
// from local threads.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>

namespace orchid::sdk {

/// Two questions, since each alone is not enough. Is there a core for them? They begin when the
/// host's processors were idle while none of them worked, and now and then they rest until that has
/// been seen again: when they take the core of another program, perhaps of one that this one waits
/// for, nothing else tells. And do they gain? Over a window of time, what they computed is compared
/// with what the local threads would have computed in the time that they waited for a core, other
/// than because of other programs. Without a gain the workers rest, each time longer. Plain data,
/// as PieceSchedule, which owns it.
class WorkerGain {
 public:
  using Time = std::chrono::nanoseconds;

  void local_done(std::size_t items, Time elapsed, Time busy, Time now);
  /// A window starts with a worker's result: before that it is only getting going.
  void worker_done(std::size_t items, Time now);
  /// How long the host's processors have been idle, all together, since any time. `alone`: no such
  /// worker has anything to do. As long as nobody tells, there are cores.
  void host_idle(Time idle, Time now, bool alone);
  /// Before that there is nothing to tell.
  [[nodiscard]] Time next_look() const { return next_look_; }
  /// What comes next is another run: the time until then does not count. Runs may be shorter than a
  /// window.
  void end_run();
  /// Nothing: workers may work now.
  [[nodiscard]] std::optional<Time> rest_end(Time now) const;

  static constexpr Time window_length = std::chrono::milliseconds(30);
  static constexpr Time first_rest = std::chrono::milliseconds(400);
  static constexpr Time longest_rest = std::chrono::seconds(10);
  /// So long it is looked whether processors are idle; the system counts in steps of 10 ms.
  static constexpr Time look_length = std::chrono::milliseconds(50);
  static constexpr Time look_interval = std::chrono::milliseconds(10);
  static constexpr double idle_enough = 0.4;  // of a processor
  /// Until the next look.
  static constexpr Time first_work = std::chrono::milliseconds(400);
  static constexpr Time longest_work = std::chrono::seconds(10);

 private:
  struct Window {
    bool open = false;
    Time spent{0};              // in earlier runs
    std::optional<Time> start;  // in this run
    double worker_items = 0;
    double local_items = 0;
    double local_busy = 0;  // ns
    double local_waited = 0;
  };
  struct Look {
    Time begin;
    Time idle;  // then
  };
  [[nodiscard]] Time length(Time now) const;
  void judge(Time now);
  void remember_alone(Time elapsed, Time busy);

  Window window_;
  Time latest_{0};            // that anything was told
  double alone_elapsed_ = 0;  // ns of local threads without workers, the newer ones weigh more
  double alone_waited_ = 0;
  Time rest_{0};      // the last one's length
  Time rest_end_{0};  // not before it
  bool looking_ = false;
  std::optional<Look> look_;  // nothing: workers are still busy
  Time next_look_{0};
  Time work_{first_work};  // without looking, the next time that processors are idle
};

}  // namespace orchid::sdk
