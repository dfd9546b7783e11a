#include "api/invocation_request.h"

#include <chrono>

#include "api/session.h"
#include "foundation/percent_encoding.h"

namespace orchid::sdk {

std::string function_path(std::string_view name) { return "/v1/functions/" + percent_encode(name); }

void add_place(HttpRequest& request, const InvokeOptions& options) {
  if (!options.host_kind.empty())
    request.headers.push_back("Orchid-Host-Kind: " + options.host_kind);
  if (!options.device.empty()) request.headers.push_back("Orchid-Device: " + options.device);
  if (!options.cluster.empty()) request.headers.push_back("Orchid-Cluster: " + options.cluster);
  std::string data;
  for (const std::string& one : options.data) data += (data.empty() ? "" : ", ") + one;
  if (!data.empty()) request.headers.push_back("Orchid-Data: " + data);
}

HttpRequest invocation_request(std::string_view function, std::span<const std::byte> input,
                               const InvokeOptions& options) {
  HttpRequest request{.method = "POST",
                      .target = function_path(function) + "/invocations",
                      .headers = {"Content-Type: application/octet-stream"},
                      .body = input,
                      .timeout = Session::longest_answer};
  if (options.deadline.count() > 0) {
    const auto deadline = std::chrono::ceil<std::chrono::milliseconds>(options.deadline);
    request.headers.push_back("Orchid-Deadline-Ms: " + std::to_string(deadline.count()));
    request.timeout = deadline + Session::answer_grace;
  }
  if (!options.idempotency_key.empty())
    request.headers.push_back("Idempotency-Key: " + options.idempotency_key);
  if (!options.request_id.empty()) request.headers.push_back("X-Request-Id: " + options.request_id);
  if (!options.signature.empty())
    request.headers.push_back("Orchid-Signature: " + options.signature);
  if (!options.trace_parent.empty())
    request.headers.push_back("traceparent: " + options.trace_parent);
  add_place(request, options);
  if (options.at_most_once) request.headers.emplace_back("Orchid-At-Most-Once: true");
  if (!options.output_data.empty())
    request.headers.push_back("Orchid-Output: data=" + options.output_data);
  return request;
}

}  // namespace orchid::sdk
