// hosts/host_metrics.h: what /metrics says of the executors.
#pragma once
#include "foundation/metrics_text.h"
#include "hosts/host_book.h"

namespace orchid::gateway {

/// Control thread.
void add_metrics(MetricsText& text, const HostBook& hosts);

}  // namespace orchid::gateway
