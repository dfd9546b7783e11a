// devices/kernel_run.h: one launch on cores, by one thread or by several.
#pragma once
#include <atomic>

#include "devices/core_team.h"
#include "devices/device.h"
#include "devices/piece_schedule.h"
#include "user_code/call_context.h"

namespace orchid::executor {

/// Lives as long as the launch. Any thread of the worker's takes part; it asks between two pieces
/// whether the call has to stop.
class KernelRun final : public CoreTeam::Work {
 public:
  KernelRun(orchid_call& call, const KernelLaunch& launch, unsigned threads);

  /// Runs pieces until what is left is known to be worth others' coming: true. False: it is done,
  /// or stopped.
  [[nodiscard]] bool deserves_team() noexcept;
  void take_part() noexcept override;

  [[nodiscard]] DeviceEnd end() const {
    return stopped_.load(std::memory_order_relaxed) ? DeviceEnd::stopped : DeviceEnd::done;
  }

 private:
  struct Timed {
    std::uint64_t items = 0;  // 0: none is left, or the call has to stop
    std::uint64_t ticks = 0;
  };
  Timed run_piece();

  orchid_call& call_;
  const KernelLaunch& launch_;
  PieceSchedule schedule_;
  std::atomic<bool> stopped_{false};
};

}  // namespace orchid::executor
