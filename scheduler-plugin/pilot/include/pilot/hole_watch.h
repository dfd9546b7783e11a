// pilot/hole_watch.h: which pilots wait in vain for what was free of their node.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "foundation/clock.h"

namespace orchid::pilot {

/// Of a pilot that waits for a hole.
enum class Wait : std::uint8_t {
  may_end,
  hole_gone,  // it has not been there for a while
  not_given,  // it seems to be there, and the batch system finds no room, or has started nothing
              // for long: short jobs fill it one after the other, or it knows better
};

/// A value of one thread.
class HoleWatch {
 public:
  struct Options {
    std::chrono::seconds gone_after;      // without the hole
    std::chrono::seconds no_room_after;   // while the batch system finds no room
    std::chrono::seconds no_start_after;  // of waiting
  };
  explicit HoleWatch(Options options) : options_(options) {}

  struct Sight {
    bool hole_is_there = true;
    bool no_room = false;  // the batch system has tried to start it
  };
  /// Before all pilots that wait are looked at; what has not been since the last time is forgotten.
  void begin(MonotonicTime now);
  [[nodiscard]] Wait look(std::uint64_t job, Sight sight);

 private:
  struct Known {
    MonotonicTime first;
    MonotonicTime last;  // look
    std::optional<MonotonicTime> gone_since;
    std::optional<MonotonicTime> no_room_since;
  };
  Options options_;
  MonotonicTime now_{};
  std::map<std::uint64_t, Known> waiting_;
};

}  // namespace orchid::pilot
