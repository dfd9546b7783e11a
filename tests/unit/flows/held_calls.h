// held_calls.h: time, and calls of flows, that go on when a test says so.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "call_maker.h"
#include "foundation/clock.h"

namespace orchid::flows {

class StillClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return MonotonicTime(time); }
  [[nodiscard]] WallTime wall_now() const override {
    return WallTime(std::chrono::hours(500'000) + time);
  }
  std::chrono::milliseconds time{1'000};
};

/// Calls that are open, by flow and number; the test answers them.
class HeldCalls final : public FlowCaller {
 public:
  void start(FlowCall call) override {
    started.insert(call.number);
    open.push_back(std::move(call));
  }
  void stop(const std::string& flow, std::uint64_t number) override {
    stopped += static_cast<unsigned>(std::erase_if(
        open, [&](const FlowCall& call) { return call.flow == flow && call.number == number; }));
  }
  void forget(const std::string& flow) override {
    std::erase_if(open, [&](const FlowCall& call) { return call.flow == flow; });
  }
  void drop(const DataId& data) override { dropped.push_back(data); }
  std::vector<DataId> dropped;
  std::deque<FlowCall> open;
  std::multiset<std::uint64_t> started;  // numbers
  unsigned stopped = 0;
};

}  // namespace orchid::flows
