// invocations/invocation_documents.h: invocations as the API's JSON.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "invocations/invocation_view.h"

namespace orchid::gateway {

/// "queued", "running", "done".
[[nodiscard]] std::string_view state_name(StoredState state);

[[nodiscard]] std::string invocation_json(const InvocationView& view);
/// Of one that runs, from 0 to 1.
[[nodiscard]] std::string progress_json(double progress);
[[nodiscard]] std::string invocation_list_json(const std::vector<InvocationView>& views);
/// "queue;dur=0.004, place;dur=0.000, compile;dur=2.100, link;dur=0.040, run;dur=0.001":
/// milliseconds.
[[nodiscard]] std::string server_timing(const CallTimings& timings);

}  // namespace orchid::gateway
