// foundation/clock.h: time as something that is passed in, so that tests own it.
#pragma once
#include <chrono>

namespace orchid {

using MonotonicTime =
    std::chrono::steady_clock::time_point;  // CLOCK_MONOTONIC, the same for all processes of a host
using WallTime = std::chrono::system_clock::time_point;

/// Any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual MonotonicTime now() const = 0;
  [[nodiscard]] virtual WallTime wall_now() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] WallTime wall_now() const override { return std::chrono::system_clock::now(); }
};

}  // namespace orchid
