// offload/worker_gain.h: whether workers of the own host add anything, or only take their cores
// from local threads.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>

namespace orchid::sdk {

/// Over a window of time, what the workers computed is compared with what the local threads would
/// have computed in the time that they waited for a core, other than because of other programs.
/// Without a gain the workers rest, each time longer. Plain data, as PieceSchedule, which owns it.
class WorkerGain {
 public:
  using Time = std::chrono::nanoseconds;

  void local_done(std::size_t items, Time elapsed, Time busy, Time now);
  /// A window starts with a worker's result: before that it is only getting going.
  void worker_done(std::size_t items, Time now);
  /// What comes next is another run: the time until then does not count. Runs may be shorter than a
  /// window.
  void end_run();
  /// Nothing: workers may work now.
  [[nodiscard]] std::optional<Time> rest_end(Time now) const;

  static constexpr Time window_length = std::chrono::milliseconds(30);
  static constexpr Time first_rest = std::chrono::milliseconds(400);
  static constexpr Time longest_rest = std::chrono::seconds(10);

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
  [[nodiscard]] Time length(Time now) const;
  void judge(Time now);
  void remember_alone(Time elapsed, Time busy);

  Window window_;
  Time latest_{0};            // that anything was told
  double alone_elapsed_ = 0;  // ns of local threads without workers, the newer ones weigh more
  double alone_waited_ = 0;
  Time rest_{0};      // the last one's length
  Time rest_end_{0};  // not before it
};

}  // namespace orchid::sdk
