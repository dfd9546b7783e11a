#include "crew/crew_source.h"

#include "api/documents.h"
#include "foundation/files.h"
#include "foundation/json_document.h"
#include "foundation/percent_encoding.h"
#include "lease/gateway_lease.h"

namespace orchid::sdk {

LeaseGrant GatewayCrews::take(const CrewOptions& options) {
  return request_lease(*session_,
                       {.workers = options.workers,
                        .at_least = options.at_least,
                        .cores_per_worker = options.cores_per_worker,
                        .memory = options.memory,
                        .wait = options.wait,
                        .duration = options.duration,
                        .within = options.within,
                        .lane = options.lane},
                       WorkersAre::crew);
}

void GatewayCrews::renew(const std::string& lease, std::chrono::milliseconds duration) {
  (void)GatewayLease(session_, lease).renew(duration, {});
}
void GatewayCrews::release(const std::string& lease) { GatewayLease(session_, lease).release(); }
FunctionInfo GatewayCrews::describe(const std::string& function) {
  return GatewayLease(session_, {}).describe(function);
}
std::vector<std::byte> GatewayCrews::module(const std::string& function,
                                            const std::string& digest) {
  return GatewayLease(session_, {}).module(function, digest);
}
std::vector<std::byte> GatewayCrews::look_up(const std::string& name) {
  return session_->get("/v1/functions/" + percent_encode(name) + "/module").body;
}

DataHolders parse_data_holders(std::string_view text) {
  const JsonDocument document(text);
  return {.hosts = parse_data(text).hosts,
          .executors = document.root().optional().texts("executors")};
}

DataHolders GatewayCrews::holders_of(const std::string& data) {
  return parse_data_holders(session_->get("/v1/data/" + percent_encode(data) + "/document").text());
}

void GatewayCrews::tell_calls(const std::string& lease, const std::vector<TracedCall>& calls) {
  const std::string body = calls_document(calls);
  (void)session_->request({.method = "POST",
                           .target = "/v1/leases/" + lease + "/calls",
                           .headers = {"Content-Type: application/json"},
                           .body = as_bytes(body),
                           .timeout = std::chrono::seconds(5)});
}

}  // namespace orchid::sdk
