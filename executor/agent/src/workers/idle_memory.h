// workers/idle_memory.h: memory that a worker keeps while nobody calls it.
#pragma once
#include <chrono>
#include <cstdint>

#include "foundation/clock.h"
#include "foundation/units.h"

namespace orchid::executor {

/// Pure; one for each worker, owned by the agent's thread.
class IdleMemory {
 public:
  /// A worker without calls for so long is looked at, once until it has had another call.
  static constexpr std::chrono::seconds idle_time{5};
  /// What it may keep then, resident and of its own: a function's tables, but not its data.
  static constexpr ByteCount bound = 256_MiB;

  /// `calls`: that it has finished. True: its memory is to be looked at now.
  [[nodiscard]] bool is_due(MonotonicTime now, std::uint64_t calls) {
    if (calls == 0 || calls != calls_) {
      calls_ = calls;
      since_ = now;
      looked_ = false;
    }
    if (looked_ || calls == 0 || now - since_ < idle_time) return false;
    return looked_ = true;
  }

 private:
  std::uint64_t calls_ = 0;
  MonotonicTime since_;
  bool looked_ = false;
};

}  // namespace orchid::executor
