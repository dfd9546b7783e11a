// http/json_views.h: functions and invocations as the API's JSON.
#pragma once
#include <string>
#include <vector>

#include "functions/function_table.h"
#include "invocations/invocation_view.h"

namespace orchid::gateway {

/// "2025-01-31T12:00:00.123Z".
[[nodiscard]] std::string format_time(UnixMillis time);
/// "queued", "running", "done".
[[nodiscard]] std::string_view state_name(StoredState state);

[[nodiscard]] std::string version_json(const DeployedVersion& version);
[[nodiscard]] std::string function_json(const Function& function, const DeployedVersion& version);
[[nodiscard]] std::string function_list_json(const std::vector<const Function*>& functions);
[[nodiscard]] std::string version_list_json(const Function& function);
[[nodiscard]] std::string invocation_json(const InvocationView& view);
[[nodiscard]] std::string invocation_list_json(const std::vector<InvocationView>& views);
/// "queue;dur=0.004, place;dur=0.000, compile;dur=2.100, link;dur=0.040, run;dur=0.001":
/// milliseconds.
[[nodiscard]] std::string server_timing(const CallTimings& timings);

}  // namespace orchid::gateway
