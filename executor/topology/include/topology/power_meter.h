// topology/power_meter.h: what the processors of this machine draw, by the energy counters that
// Linux shows (RAPL).
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

#include "foundation/clock.h"

namespace orchid::executor {

/// Most sites let only root read the counters: then there is no value. Owned by one thread.
class PowerMeter {
 public:
  static constexpr std::chrono::seconds interval{5};

  explicit PowerMeter(std::filesystem::path counters = "/sys/class/powercap")
      : counters_(std::move(counters)) {}

  /// Reads the counters when `interval` has passed. True: there is a new value.
  bool look(MonotonicTime now);
  /// Of all packages together, over the last interval.
  [[nodiscard]] std::optional<std::uint64_t> milliwatts() const { return milliwatts_; }

 private:
  struct Package {
    std::uint64_t microjoules = 0;
    std::uint64_t range = 0;  // where the counter begins anew
  };
  [[nodiscard]] std::map<std::filesystem::path, Package> read() const;

  std::filesystem::path counters_;
  std::map<std::filesystem::path, Package> last_;
  MonotonicTime looked_{};
  std::optional<std::uint64_t> milliwatts_;
};

}  // namespace orchid::executor
