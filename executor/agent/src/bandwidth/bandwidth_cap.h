// bandwidth/bandwidth_cap.h: which workers run and which are held, so that together they move no
// more bytes per second between memory and cores than they may.
#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "foundation/clock.h"

namespace orchid::executor {

/// max-min: who wants less than an equal share has it, the others share what is left equally.
/// Bytes per second, in the order of `wanted`.
[[nodiscard]] std::vector<double> fair_shares(double all, std::span<const double> wanted);

/// Each worker has an account of bytes: time brings its share in, its processor time takes what it
/// moves in that out. Held when nothing is left, it goes on when the account pays for `on_time`.
/// So what it moves in the long run is its share, however late somebody looks. Pure: no clock of
/// its own. Owned by the agent's thread.
class BandwidthCap {
 public:
  /// How long a worker runs at a time, of its processor time: long enough that holding and going on
  /// cost little, short against what a person or a batch job notices.
  static constexpr std::chrono::milliseconds on_time{2};
  /// A look at what runs need not come sooner than this, nor later than that.
  static constexpr std::chrono::milliseconds soonest{1};
  static constexpr std::chrono::milliseconds latest{10};

  explicit BandwidthCap(double bytes_per_second) : all_(bytes_per_second) {}

  struct Worker {
    std::uint64_t id = 0;
    double rate = 0;   // bytes that it moves in a second of processor time; 0: nothing to speak of
    double cores = 1;  // that it may use at once
    std::chrono::nanoseconds used{0};  // processor time of calls since the last look
    bool busy = false;                 // a call runs, or is held
  };
  struct Decision {
    std::vector<std::uint64_t> hold;         // all others go on
    std::chrono::milliseconds next{latest};  // when to look again
  };
  /// `workers`: all there are; others are forgotten.
  [[nodiscard]] Decision look(MonotonicTime now, std::span<const Worker> workers);

 private:
  struct Account {
    double bytes = 0;
    bool held = false;
  };
  double all_;
  MonotonicTime last_{};
  std::unordered_map<std::uint64_t, Account> accounts_;
};

}  // namespace orchid::executor
