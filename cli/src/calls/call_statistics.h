// calls/call_statistics.h: what many calls cost, as numbers for people.
#pragma once
#include <array>
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

/// The parts of a call in the order in which they pass, with the names that users see.
struct CallPart {
  const char* name;
  std::chrono::nanoseconds CallTiming::* duration;
  bool told_by_gateway = false;  // of any invocation; the others are seen by the caller alone
};
inline constexpr std::array<CallPart, 9> call_parts{{{"connect", &CallTiming::connect},
                                                     {"send", &CallTiming::send},
                                                     {"queue", &CallTiming::queue, true},
                                                     {"place", &CallTiming::place, true},
                                                     {"compile", &CallTiming::compile, true},
                                                     {"link", &CallTiming::link, true},
                                                     {"run", &CallTiming::run, true},
                                                     {"wait", &CallTiming::wait},
                                                     {"receive", &CallTiming::receive}}};

struct CallStatistics {
  std::size_t succeeded = 0;
  std::size_t failed = 0;
  std::chrono::nanoseconds elapsed{0};
  Quantiles total;
  std::array<Quantiles, call_parts.size()> parts;
  [[nodiscard]] double calls_per_second() const;
};
/// `timings` of the calls that went well.
[[nodiscard]] CallStatistics summarise(const std::vector<CallTiming>& timings, std::size_t failed,
                                       std::chrono::nanoseconds elapsed);
[[nodiscard]] std::string to_table(const CallStatistics& statistics);
[[nodiscard]] std::string to_json(const CallStatistics& statistics);
/// "total 1.234 ms (connect 20 µs, send 9 µs, queue 3 µs, …)": the parts add up to the total.
[[nodiscard]] std::string describe_timing(const CallTiming& timing);

}  // namespace orchid::cli
