#include "devices/kernel_run.h"

#include <chrono>

#include "foundation/tick_clock.h"

namespace orchid::executor {
namespace {

/// What it takes to stop a call counts from the middle of a piece; handing one out takes less than
/// a ten thousandth of this. Items that get five times dearer at once are still below 20 ms.
constexpr std::chrono::milliseconds piece_time{4};
/// A shorter piece tells nothing about the speed of longer ones.
constexpr std::chrono::microseconds time_to_judge{5};
/// About what it takes until the first member has woken.
constexpr std::chrono::microseconds worth_waking{50};

}  // namespace

KernelRun::KernelRun(orchid_call& call, const KernelLaunch& launch, unsigned threads)
    : call_(call),
      launch_(launch),
      schedule_({.items = launch.items,
                 .group_size = launch.kernel.group_size,
                 .threads = threads,
                 .target_ticks = call.rate.ticks(piece_time)}) {}

KernelRun::Timed KernelRun::run_piece() {
  if (orchid_should_stop(&call_) != 0) {
    stopped_.store(true, std::memory_order_relaxed);
    return {};
  }
  const auto piece = schedule_.take();
  if (!piece) return {};
  const std::uint64_t start = ticks_now();
  launch_.kernel.run(launch_.args.data(), piece->begin, piece->end);
  const Timed timed{.items = piece->size(), .ticks = ticks_since(start)};
  schedule_.note(*piece, timed.ticks);
  return timed;
}

bool KernelRun::deserves_team() noexcept {
  const std::uint64_t judged = call_.rate.ticks(time_to_judge);
  const auto worth = static_cast<double>(call_.rate.ticks(worth_waking));
  while (true) {
    const Timed timed = run_piece();
    if (timed.items == 0) return false;
    const double per_item = static_cast<double>(timed.ticks) / static_cast<double>(timed.items);
    if (timed.ticks >= judged && per_item * static_cast<double>(schedule_.left()) > worth)
      return true;
  }
}

void KernelRun::take_part() noexcept {
  while (run_piece().items != 0) {
  }
}

}  // namespace orchid::executor
