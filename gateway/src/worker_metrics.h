// worker_metrics.h: what /metrics says of the workers that are kept for modules whose calls come
// over HTTP.
#pragma once
#include <memory>
#include <span>

#include "foundation/metrics_text.h"
#include "hosts/host_book.h"
#include "http_unit.h"

namespace orchid::gateway {

/// Control thread.
void add_worker_metrics(MetricsText& text, std::span<const std::unique_ptr<HttpUnit>> units,
                        const HostBook& hosts);

}  // namespace orchid::gateway
