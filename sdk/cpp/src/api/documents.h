// api/documents.h: the gateway's JSON documents and headers as the SDK's values.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "http/http_exchange.h"
#include "orchid/client.h"

namespace orchid::sdk {

// All throw `orchid::Error` (`internal`) when the text is not what the API promises.
[[nodiscard]] FunctionInfo parse_function(std::string_view text);
[[nodiscard]] std::vector<FunctionInfo> parse_functions(std::string_view text);
[[nodiscard]] InvocationStatus parse_invocation(std::string_view text);
[[nodiscard]] std::vector<InvocationStatus> parse_invocations(std::string_view text);
[[nodiscard]] DataInfo parse_data(std::string_view text);
[[nodiscard]] std::vector<DataInfo> parse_data_list(std::string_view text);
[[nodiscard]] FlowStatus parse_flow(std::string_view text);
[[nodiscard]] std::vector<FlowStatus> parse_flows(std::string_view text);
/// The body of a request for copies.
[[nodiscard]] std::string wanted_copies(const CopyOptions& options);
/// The `id` of a 202.
[[nodiscard]] std::string parse_accepted(const HttpResponse& response);

/// Takes the body as the output.
[[nodiscard]] Reply make_reply(HttpResponse response, std::string invocation);
/// The timing of a call that took `total` in one exchange: what this side saw of it, and what the
/// gateway told of what it did in between. The rest is `wait`, so that the parts add up.
[[nodiscard]] CallTiming whole_timing(CallTiming told, const ExchangeTimes& seen,
                                      std::chrono::nanoseconds total);

[[nodiscard]] InvocationLog make_log(const HttpResponse& response);

/// Of a Server-Timing header: "queue;dur=0.012, run;dur=1.5", in milliseconds. Parts that it does
/// not know are left out.
[[nodiscard]] CallTiming parse_server_timing(std::string_view header);

}  // namespace orchid::sdk
