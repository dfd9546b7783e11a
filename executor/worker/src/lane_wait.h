// worker/lane_wait.h: how a worker waits for the next entry of its lane: it spins, alone on its
// core at first, then giving others their turn; after that it sleeps.
#pragma once
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "foundation/tick_clock.h"
#include "transport/lane.h"

namespace orchid::executor {

struct LaneWait {
  transport::LaneWorker& lane;
  int control;  // packet socket to the agent
  std::uint64_t spin_ticks;
  std::uint64_t alone_ticks;

  /// True once `come` is; false: it was not for as long as it spins.
  template <typename Come>
  [[nodiscard]] bool spin(Come come) const {
    const std::uint64_t start = ticks_now();
    std::uint64_t waited = 0;
    do {
      for (unsigned look = 0; look < looks_per_clock; ++look)
        if (come()) return true;
      waited = ticks_now() - start;
      if (waited > alone_ticks) ::sched_yield();
    } while (waited < spin_ticks);
    return false;
  }

  /// Until the lane or, where `control_events` says so, the control socket has something, unless
  /// `come` says that it has come already. The process ends when its agent is gone.
  template <typename Come>
  void sleep(short control_events, Come come) const {
    if (!lane.prepare_to_sleep()) return;
    if (!come()) {
      std::array<pollfd, 2> wait{
          {{lane.wake_descriptor(), POLLIN, 0}, {control, control_events, 0}}};
      ::poll(wait.data(), wait.size(), -1);
      if ((wait[1].revents & (POLLHUP | POLLERR)) != 0) ::_exit(0);
    }
    lane.finish_sleep();
  }

 private:
  /// The clock is read once in so many looks at the ring.
  static constexpr unsigned looks_per_clock = 64;
};

}  // namespace orchid::executor
