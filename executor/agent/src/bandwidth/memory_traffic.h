// bandwidth/memory_traffic.h: what each module is known to move between memory and cores, and when
// to measure it again.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "foundation/clock.h"
#include "foundation/units.h"

namespace orchid::executor {

/// What was touched within some processor time, each page once.
struct Touched {
  ByteCount bytes;
  std::chrono::nanoseconds cpu{0};
};

/// The same, had the measurement cost nothing: `per_page` is what the first touch of a page takes
/// longer. At least a tenth of the time is left.
[[nodiscard]] Touched without_cost(Touched measured, std::chrono::nanoseconds per_page);

/// A measurement has two parts, from one `clear` on. What is touched in the short one, a few
/// milliseconds, gives the rate: so soon only what fits into the caches is touched twice. What is
/// touched in the long one says whether it fits: what does moves nothing.
constexpr std::chrono::milliseconds short_part{2};
constexpr std::chrono::milliseconds long_part{20};

/// Bytes per second of processor time; nothing: that the long part has to tell.
[[nodiscard]] std::optional<double> rate_of(const Touched& shortly, ByteCount cache);
/// The same, when both parts are there.
[[nodiscard]] double rate_of(const Touched& shortly, const Touched& longer, ByteCount cache);

/// By module, the one whose last measurement is oldest goes first. Pure. Owned by the agent's
/// thread.
class MemoryTraffic {
 public:
  static constexpr std::size_t most_modules = 1024;
  static constexpr std::chrono::milliseconds soonest_again{100};
  static constexpr std::chrono::seconds latest_again{30};
  /// So much of the time goes into measurements, at most; but the second one comes soon, whatever
  /// the first one has cost: that one may have seen how the function fills its memory.
  static constexpr double cost_share = 0.005;

  /// 0: nothing is known, or nothing worth a word.
  [[nodiscard]] double rate(const std::string& module) const;
  [[nodiscard]] bool is_due(const std::string& module, MonotonicTime now) const;
  /// `cost`: how long the measurement took. More than was known counts at once, less by half:
  /// functions have phases, and what was measured while they waited for memory or for the machine
  /// is too little.
  void measured(const std::string& module, double rate, std::chrono::nanoseconds cost,
                MonotonicTime now);
  /// The measurement failed: not again at once.
  void not_measured(const std::string& module, MonotonicTime now);

 private:
  struct Known {
    double rate = 0;
    MonotonicTime at;
    MonotonicTime again;
    std::chrono::nanoseconds interval{0};
  };
  Known& entry(const std::string& module);
  std::unordered_map<std::string, Known> known_;
};

}  // namespace orchid::executor
