#include "http/metrics.h"

#include <fmt/format.h>

#include <iterator>

namespace orchid::gateway {
namespace {

void describe(std::string& out, std::string_view name, std::string_view type,
              std::string_view help) {
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

template <typename Pick>
std::uint64_t sum(std::span<const ThreadMetrics* const> threads, Pick pick) {
  std::uint64_t total = 0;
  for (const ThreadMetrics* thread : threads) total += pick(*thread).value();
  return total;
}

void render_single(std::string& out, std::string_view name, std::string_view type,
                   std::string_view help, std::uint64_t value) {
  describe(out, name, type, help);
  fmt::format_to(std::back_inserter(out), "{} {}\n", name, value);
}

void render_invocations(std::string& out, std::span<const ThreadMetrics* const> threads) {
  describe(out, "orchid_invocations_total", "counter", "Synchronous invocations by outcome.");
  for (std::size_t i = 0; i < outcome_count; ++i) {
    const auto count =
        sum(threads, [i](const ThreadMetrics& t) -> const Counter& { return t.outcomes[i]; });
    fmt::format_to(std::back_inserter(out), "orchid_invocations_total{{outcome=\"{}\"}} {}\n",
                   to_string(static_cast<Outcome>(i)), count);
  }
  constexpr std::string_view name = "orchid_invocation_duration_seconds";
  describe(out, name, "histogram", "Time from the complete request to its answer.");
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i <= ThreadMetrics::bounds_us.size(); ++i) {
    cumulative +=
        sum(threads, [i](const ThreadMetrics& t) -> const Counter& { return t.durations[i]; });
    const std::string bound =
        i < ThreadMetrics::bounds_us.size()
            ? fmt::format("{:g}", static_cast<double>(ThreadMetrics::bounds_us[i]) / 1e6)
            : "+Inf";
    fmt::format_to(std::back_inserter(out), "{}_bucket{{le=\"{}\"}} {}\n", name, bound, cumulative);
  }
  const auto total_us =
      sum(threads, [](const ThreadMetrics& t) -> const Counter& { return t.duration_sum_us; });
  fmt::format_to(std::back_inserter(out), "{}_sum {:.6f}\n{}_count {}\n", name,
                 static_cast<double>(total_us) / 1e6, name, cumulative);
}

}  // namespace

void ThreadMetrics::observe_invocation(Outcome outcome, std::chrono::microseconds duration) {
  const auto us = static_cast<std::uint64_t>(duration.count() < 0 ? 0 : duration.count());
  std::size_t bucket = 0;
  while (bucket < bounds_us.size() && us > bounds_us[bucket]) ++bucket;
  durations[bucket].add();
  duration_sum_us.add(us);
  outcomes[static_cast<std::size_t>(outcome)].add();
}

std::string prometheus_text(std::span<const ThreadMetrics* const> threads,
                            const GaugeValues& gauges) {
  std::string out;
  describe(out, "orchid_build_info", "gauge", "The version that runs.");
  fmt::format_to(std::back_inserter(out), "orchid_build_info{{version=\"{}\"}} 1\n",
                 ORCHID_VERSION);
  render_single(out, "orchid_uptime_seconds", "gauge", "Time since the gateway started.",
                static_cast<std::uint64_t>(gauges.uptime.count()));
  describe(out, "orchid_http_requests_total", "counter", "Answered requests by status.");
  for (std::size_t code = 100; code < 600; ++code) {
    const auto count = sum(
        threads, [code](const ThreadMetrics& t) -> const Counter& { return t.responses[code]; });
    if (count > 0)
      fmt::format_to(std::back_inserter(out), "orchid_http_requests_total{{code=\"{}\"}} {}\n",
                     code, count);
  }
  using Metrics = const ThreadMetrics&;
  const auto opened =
      sum(threads, [](Metrics t) -> const Counter& { return t.connections_opened; });
  const auto closed =
      sum(threads, [](Metrics t) -> const Counter& { return t.connections_closed; });
  render_single(out, "orchid_http_connections", "gauge", "Open client connections.",
                opened - closed);
  render_single(out, "orchid_http_received_bytes_total", "counter", "Bytes from clients.",
                sum(threads, [](Metrics t) -> const Counter& { return t.bytes_received; }));
  render_single(out, "orchid_http_sent_bytes_total", "counter", "Bytes to clients.",
                sum(threads, [](Metrics t) -> const Counter& { return t.bytes_sent; }));
  render_invocations(out, threads);
  const auto begun =
      sum(threads, [](Metrics t) -> const Counter& { return t.calls_in_flight_started; });
  const auto ended =
      sum(threads, [](Metrics t) -> const Counter& { return t.calls_in_flight_ended; });
  render_single(out, "orchid_invocations_in_flight", "gauge", "Synchronous invocations under way.",
                begun - ended);
  render_single(out, "orchid_async_invocations_queued", "gauge",
                "Asynchronous invocations that wait for a worker.", gauges.async_queued);
  render_single(out, "orchid_async_invocations_running", "gauge",
                "Asynchronous invocations under way.", gauges.async_running);
  render_single(out, "orchid_functions", "gauge", "Deployed functions.", gauges.functions);
  render_single(out, "orchid_inspector_restarts_total", "counter",
                "How often the module inspector was restarted.", gauges.inspector_restarts);
  return out;
}

}  // namespace orchid::gateway
