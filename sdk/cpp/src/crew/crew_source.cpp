#include "crew/crew_source.h"

#include "foundation/files.h"
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

std::vector<std::string> GatewayCrews::hosts_of(const std::string& data) {
  return GatewayLease(session_, {}).describe_data(data).hosts;
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
