// session_access.cpp: which handler a request belongs to, and whether it may reach it.
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "foundation/random.h"
#include "http/query.h"
#include "server/session.h"

namespace orchid::gateway {

std::optional<Response> Session::find_route() {
  if (request_.path == "*") {  // of the gateway as a whole, which says no more than its description
    Response response;
    response.status = 204;
    return std::move(response.with("Allow", host_.router.all_methods() + ", OPTIONS"));
  }
  auto found = host_.router.find(request_.method, request_.path);
  if (const auto* match = std::get_if<RouteMatch>(&found)) {
    route_ = match->route;
    request_.parameters = match->parameters;
    if (!route_->options.is_public)
      if (auto refused = authenticate()) return refused;
    return judge_query();
  }
  // Strangers are not told what is there.
  if (auto refused = authenticate()) return refused;
  if (const auto* other = std::get_if<MethodNotAllowed>(&found)) {
    Problem problem =
        problem_of(Failure{ErrorCode::bad_request, "this path takes " + other->allow});
    problem.status = 405;
    return std::move(to_response(problem).with("Allow", other->allow));
  }
  return to_response(problem_of(Failure{
      ErrorCode::not_found, "there is nothing at " + request_.path + ": see /openapi.yaml"}));
}

std::optional<Response> Session::judge_query() {
  if (request_.query.empty()) return std::nullopt;
  if (auto checked = check_query(request_.query, route_->options.query); !checked)
    return refusal(checked.error());
  return std::nullopt;
}

std::optional<Response> Session::authenticate() {
  const std::string_view authorization = request_.header(Header::authorization);
  if (!only_ && authorization.empty() && host_.by_cookie) {
    if (auto judged = host_.by_cookie(request_)) {
      if (!*judged) return std::move(judged->error());
      request_.identity = std::move(**judged);
      is_by_cookie_ = true;
      return std::nullopt;
    }
  }
  const bool is_known =
      known_identity_ && equal_in_constant_time(known_authorization_, authorization);
  if (!only_ && !is_known) {
    auto identity = host_.tokens.authenticate({authorization, peer_uid_});
    if (!identity) return refusal(identity.error());
    known_authorization_ = authorization;
    known_identity_ = std::move(*identity);
  }
  request_.identity = only_ ? *only_ : *known_identity_;
  return std::nullopt;
}

}  // namespace orchid::gateway
