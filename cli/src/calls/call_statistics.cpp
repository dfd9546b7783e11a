#include "calls/call_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "terminal/duration.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

Quantiles quantiles_of_part(const std::vector<CallTiming>& timings,
                            std::chrono::nanoseconds CallTiming::* part) {
  std::vector<std::chrono::nanoseconds> durations;
  durations.reserve(timings.size());
  for (const CallTiming& timing : timings) durations.push_back(timing.*part);
  return quantiles_of(std::move(durations));
}

}  // namespace

Quantiles quantiles_of(std::vector<std::chrono::nanoseconds> durations) {
  if (durations.empty()) return {};
  std::ranges::sort(durations);
  const auto at = [&](std::size_t percent) {
    const std::size_t rank = (durations.size() * percent + 99) / 100;  // counted from 1
    return durations[std::max<std::size_t>(rank, 1) - 1];
  };
  return {.p50 = at(50), .p99 = at(99), .max = durations.back()};
}

double CallStatistics::calls_per_second() const {
  if (elapsed.count() <= 0) return 0;
  return static_cast<double>(succeeded) / (static_cast<double>(elapsed.count()) / 1e9);
}

CallStatistics summarise(const std::vector<CallTiming>& timings, std::size_t failed,
                         std::chrono::nanoseconds elapsed) {
  CallStatistics statistics{.succeeded = timings.size(),
                            .failed = failed,
                            .elapsed = elapsed,
                            .total = quantiles_of_part(timings, &CallTiming::total),
                            .parts = {}};
  std::ranges::transform(call_parts, statistics.parts.begin(), [&timings](const CallPart& part) {
    return quantiles_of_part(timings, part.duration);
  });
  return statistics;
}

/// The total first.
template <typename Visit>
void visit_parts(const CallStatistics& statistics, Visit visit) {
  visit("total", statistics.total);
  for (std::size_t i = 0; i < call_parts.size(); ++i)
    visit(call_parts[i].name, statistics.parts[i]);
}

std::string to_table(const CallStatistics& statistics) {
  Table table({"part", "p50", "p99", "max"});
  visit_parts(statistics, [&table](const char* name, const Quantiles& quantiles) {
    table.add({name, format_duration(quantiles.p50), format_duration(quantiles.p99),
               format_duration(quantiles.max)});
  });
  return table.text() + fmt::format("{} calls in {}, {:.0f} calls/s, {} failed\n",
                                    statistics.succeeded + statistics.failed,
                                    format_duration(statistics.elapsed),
                                    statistics.calls_per_second(), statistics.failed);
}

std::string to_json(const CallStatistics& statistics) {
  nlohmann::ordered_json document{
      {"succeeded", statistics.succeeded},
      {"failed", statistics.failed},
      {"elapsed_s", static_cast<double>(statistics.elapsed.count()) / 1e9},
      {"calls_per_s", statistics.calls_per_second()}};
  visit_parts(statistics, [&document](const char* name, const Quantiles& quantiles) {
    const auto us = [](std::chrono::nanoseconds duration) {
      return static_cast<double>(duration.count()) / 1e3;
    };
    document[std::string(name) + "_us"] = {
        {"p50", us(quantiles.p50)}, {"p99", us(quantiles.p99)}, {"max", us(quantiles.max)}};
  });
  return document.dump();
}

std::string describe_timing(const CallTiming& timing) {
  std::string text = "total " + format_duration(timing.total);
  for (const CallPart& part : call_parts)
    text += fmt::format("{}{} {}", &part == call_parts.begin() ? " (" : ", ", part.name,
                        format_duration(timing.*part.duration));
  return text + ")";
}

}  // namespace orchid::cli
