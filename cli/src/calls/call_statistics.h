// calls/call_statistics.h: what many calls cost, as numbers for people.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "orchid/invocation.h"

namespace orchid::cli {

struct Quantiles {
  std::chrono::nanoseconds p50{0};
  std::chrono::nanoseconds p99{0};
  std::chrono::nanoseconds max{0};
};
/// Nearest rank; zeros when there is nothing.
[[nodiscard]] Quantiles quantiles_of(std::vector<std::chrono::nanoseconds> durations);

struct CallStatistics {
  std::size_t succeeded = 0;
  std::size_t failed = 0;
  std::chrono::nanoseconds elapsed{0};
  Quantiles total;
  Quantiles queue;
  Quantiles place;
  Quantiles compile;
  Quantiles link;
  Quantiles run;
  [[nodiscard]] double calls_per_second() const;
};
/// `timings` of the calls that went well.
[[nodiscard]] CallStatistics summarise(const std::vector<CallTiming>& timings, std::size_t failed,
                                       std::chrono::nanoseconds elapsed);
[[nodiscard]] std::string to_table(const CallStatistics& statistics);
[[nodiscard]] std::string to_json(const CallStatistics& statistics);
/// "1.234 ms (queue 3 µs, place 0 ns, compile 0 ns, link 0 ns, run 5 µs)".
[[nodiscard]] std::string describe_timing(const CallTiming& timing);

}  // namespace orchid::cli
