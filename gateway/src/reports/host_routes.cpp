#include "reports/host_routes.h"

#include "foundation/numbers.h"
#include "http/problem.h"
#include "http/query.h"

namespace orchid::gateway {

void HostRoutes::add_to(Router& router) {
  router.add(Method::get, "/v1/hosts", {.query = {"job"}},
             [this](Request& request, const Reply& reply) { hosts(request, reply); });
  router.add(Method::get, "/v1/utilisation", {.query = {"since"}},
             [this](Request& request, const Reply& reply) { utilisation(request, reply); });
}

void HostRoutes::hosts(const Request& request, const Reply& reply) {
  HostsAsked asked{.viewer = request.identity.tenant.uid, .job = std::nullopt};
  if (const std::string text = query_parameter(request.query, "job"); !text.empty()) {
    asked.job = parse_number<std::uint64_t>(text);
    if (!asked.job)
      return reply.send(to_response(problem_of(
          {ErrorCode::bad_request, "'job' in the query must be the number of a batch job"})));
  }
  parts_.reports.report(asked, parts_.here, [reply](std::string json) {
    reply.send(json_response(200, std::move(json)));
  });
}

void HostRoutes::utilisation(const Request& request, const Reply& reply) {
  std::int64_t since = 0;
  if (const std::string text = query_parameter(request.query, "since"); !text.empty()) {
    const auto parsed = parse_number<std::int64_t>(text);
    if (!parsed || *parsed < 0)
      return reply.send(to_response(problem_of(
          {ErrorCode::bad_request, "'since' in the query must be milliseconds since 1970"})));
    since = *parsed;
  }
  parts_.utilisation.report(since, parts_.here, [reply](std::string json) {
    reply.send(json_response(200, std::move(json)));
  });
}

}  // namespace orchid::gateway
