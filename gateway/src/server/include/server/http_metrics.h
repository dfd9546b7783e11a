// server/http_metrics.h: what the HTTP threads count of connections, requests and answers.
#pragma once
#include <array>
#include <span>

#include "foundation/metrics_text.h"
#include "foundation/thread_counter.h"

namespace orchid::gateway {

/// Of one HTTP thread, which writes it; read by any.
struct HttpMetrics {
  std::array<ThreadCounter, 600> responses;  // by status
  ThreadCounter connections_opened;
  ThreadCounter connections_closed;
  ThreadCounter streams_opened;
  ThreadCounter streams_closed;
  ThreadCounter bytes_received;
  ThreadCounter bytes_sent;

  void observe_response(unsigned status) { responses[status < 600 ? status : 500].add(); }
};

/// Of all HTTP threads together. Any thread.
void add_metrics(MetricsText& text, std::span<const HttpMetrics* const> threads);

}  // namespace orchid::gateway
