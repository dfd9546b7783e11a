#include "server/http_metrics.h"

#include <string>

namespace orchid::gateway {

void add_metrics(MetricsText& text, std::span<const HttpMetrics* const> threads) {
  text.describe(MetricKind::counter, "orchid_http_requests_total", "Answered requests by status.");
  const auto responses = sums(threads, &HttpMetrics::responses);
  for (std::size_t code = 100; code < responses.size(); ++code)
    if (responses[code] > 0) text.sample(responses[code], {{"code", std::to_string(code)}});
  text.gauge("orchid_http_connections", "Open client connections.",
             sum(threads, &HttpMetrics::connections_opened) -
                 sum(threads, &HttpMetrics::connections_closed));
  text.gauge(
      "orchid_http_event_streams", "Open streams of events.",
      sum(threads, &HttpMetrics::streams_opened) - sum(threads, &HttpMetrics::streams_closed));
  text.counter("orchid_http_received_bytes_total", "Bytes from clients.",
               sum(threads, &HttpMetrics::bytes_received));
  text.counter("orchid_http_sent_bytes_total", "Bytes to clients.",
               sum(threads, &HttpMetrics::bytes_sent));
}

}  // namespace orchid::gateway
