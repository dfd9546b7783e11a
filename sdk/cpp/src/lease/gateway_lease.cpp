#include "lease/gateway_lease.h"

#include <algorithm>
#include <iterator>

#include "api/documents.h"
#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "foundation/percent_encoding.h"

namespace orchid::sdk {
namespace {

constexpr std::chrono::milliseconds background_timeout{5'000};

/// Architectures that all of the functions have an image for; of no functions none.
std::vector<std::string> common_images(Session& session,
                                       const std::vector<std::string>& functions) {
  std::vector<std::string> common;
  for (const std::string& function : functions) {
    std::vector<std::string> images =
        parse_function(session.get("/v1/functions/" + percent_encode(function)).text())
            .architectures;
    std::vector<std::string> both;
    std::ranges::set_intersection(common, images, std::back_inserter(both));
    common = &function == &functions.front() ? std::move(images) : std::move(both);
    if (common.empty())
      throw Error({.kind = ErrorKind::bad_request,
                   .message = "no host can run all functions of the lease: '" + function +
                              "' and those before it have no image for one architecture; build "
                              "them with the same --target"});
  }
  return common;
}

}  // namespace

LeaseGrant request_lease(Session& session, const LeaseOptions& options, WorkersAre workers) {
  // Without a host of its own a client is given only workers that it can reach over the network.
  const std::string body = lease_request(
      options, options.lane == "ucx" || options.lane == "tcp" ? std::string() : own_boot_id(),
      common_images(session, options.constraints.functions), workers);
  return parse_lease_grant(session
                               .request({.method = "POST",
                                         .target = "/v1/leases",
                                         .headers = {"Content-Type: application/json"},
                                         .body = as_bytes(body),
                                         .timeout = options.within + Session::answer_grace})
                               .text());
}

LeaseGrant GatewayLease::renew(std::chrono::milliseconds duration,
                               const std::vector<LeaseId>& lost) {
  const std::string body = renewal_request(duration, lost);
  return parse_lease_grant(session_
                               ->request({.method = "PATCH",
                                          .target = path(),
                                          .headers = {"Content-Type: application/json"},
                                          .body = as_bytes(body),
                                          .timeout = background_timeout})
                               .text());
}

void GatewayLease::release() {
  (void)session_->request({.method = "DELETE", .target = path(), .timeout = background_timeout});
}

FunctionInfo GatewayLease::describe(const std::string& function) {
  return parse_function(session_->get("/v1/functions/" + percent_encode(function)).text());
}

std::vector<std::byte> GatewayLease::module(const std::string& function,
                                            const std::string& digest) {
  return session_
      ->get("/v1/functions/" + percent_encode(function) + "@" +
            digest.substr(digest.find(':') + 1) + "/module")
      .body;
}

DataInfo GatewayLease::describe_data(const std::string& reference) {
  return parse_data(session_->get("/v1/data/" + percent_encode(reference) + "/document").text());
}

void GatewayLease::copy_data(const std::string& id, const std::string& host) {
  const std::string body = wanted_copies({.host = host});
  (void)session_->request({.method = "POST",
                           .target = "/v1/data/" + percent_encode(id) + "/copies",
                           .headers = {"Content-Type: application/json"},
                           .body = as_bytes(body),
                           .timeout = background_timeout});
}

}  // namespace orchid::sdk
