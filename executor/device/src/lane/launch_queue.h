// lane/launch_queue.h: the launches of a lane, one after the other, cut into sub-ranges.
//
// As many sub-ranges are with the driver as it has work for 20 ms with, so that the GPU does not
// wait for us, and what is stopped ends within that time.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "driver/driver.h"
#include "lane/kernel_modules.h"

namespace orchid::executor {

struct KernelLaunch {
  std::uint64_t number = 0;  // grows from one to the next
  LoadedKernel* kernel = nullptr;
  std::unique_ptr<KernelArgs> args;
  std::uint64_t items = 0;
};

struct LaunchFigures {
  std::chrono::nanoseconds kernel_time{0};
  std::uint64_t launches = 0;
  std::uint64_t sub_ranges = 0;
  std::uint64_t long_sub_ranges = 0;  // over `longest_sub_range`
};

/// Owned by the device process's thread.
class LaunchQueue {
 public:
  explicit LaunchQueue(Driver& driver) : driver_(driver) {}

  [[nodiscard]] bool is_full() const { return waiting_.size() >= most_waiting_launches; }
  void add(KernelLaunch launch);
  /// Hands sub-ranges to the driver and takes back those that have ended; true: there were some.
  /// Errors: `crashed`, `lost`.
  [[nodiscard]] DriverResult<bool> advance();
  /// Forgets what the driver does not have yet.
  void stop() { waiting_.clear(); }

  /// The driver has nothing of it, and nothing waits.
  [[nodiscard]] bool is_idle() const { return waiting_.empty() && running_.empty(); }
  [[nodiscard]] bool is_running() const { return !running_.empty(); }
  [[nodiscard]] bool has_ended(std::uint64_t number) const;
  /// Of the oldest launch, in thousandths of its items.
  struct Progress {
    std::uint64_t launch = 0;
    std::uint64_t thousandths = 0;
  };
  [[nodiscard]] std::optional<Progress> progress() const;
  [[nodiscard]] const LaunchFigures& figures() const { return figures_; }
  /// The driver did not take a launch, for its own sake: its words, once. Those behind it ran.
  [[nodiscard]] std::optional<DriverFailure> take_failure() {
    return std::exchange(failure_, std::nullopt);
  }

 private:
  struct Waiting {
    KernelLaunch launch;
    std::uint64_t begun = 0;  // items that the driver has been given
  };
  struct Running {
    std::uint64_t launch = 0;
    LoadedKernel* kernel = nullptr;
    std::uint64_t items = 0;
    std::uint64_t end = 0;  // of the launch's items, when it has ended
    std::uint64_t all = 0;  // items of the launch
    std::chrono::nanoseconds expected{0};
    MarkHandle before{};
    MarkHandle behind{};
  };
  [[nodiscard]] DriverResult<bool> collect();
  [[nodiscard]] DriverResult<bool> dispatch();
  [[nodiscard]] DriverResult<void> give(Waiting& waiting, std::uint64_t items);
  [[nodiscard]] DriverResult<MarkHandle> take_mark();
  [[nodiscard]] std::chrono::nanoseconds expected_to_run() const;

  Driver& driver_;
  std::deque<Waiting> waiting_;
  std::deque<Running> running_;
  std::vector<MarkHandle> free_marks_;
  std::optional<Progress> progress_;
  std::optional<DriverFailure> failure_;
  LaunchFigures figures_;
};

}  // namespace orchid::executor
