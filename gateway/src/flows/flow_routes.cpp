#include "flows/flow_routes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "flow_events.h"
#include "foundation/numbers.h"
#include "http/problem.h"
#include "http/query.h"
#include "http/request_options.h"

namespace orchid::gateway {
namespace {

constexpr std::size_t longest_id = 64;
constexpr std::size_t longest_key = 255;
constexpr const char* nodes_parameter = "nodes";

Response no_content() {
  Response response;
  response.status = 204;
  return response;
}

Response response_of(Result<FlowReply> reply) {
  if (!reply) return to_response(problem_of(reply.error()));
  const FlowAnswer& answer = reply->answer;
  if (answer.failure) return to_response(problem_of(*answer.failure));
  if (answer.content == FlowContent::nothing) return no_content();
  Response response = json_response(200, std::move(reply->content));
  if (answer.content == FlowContent::text) response.content_type = content_type::text;
  return response;
}

Response nothing_sent() {
  return to_response(
      problem_of(Failure{ErrorCode::bad_request, "a flow has to be sent: see /openapi.yaml"}));
}

/// Whether the list of nodes is to be left out. Errors: `bad_request`.
Result<bool> wants_no_nodes(const Request& request) {
  const std::string nodes = query_parameter(request.query, nodes_parameter);
  if (nodes == "none") return true;
  if (nodes.empty() || nodes == "all") return false;
  return fail(ErrorCode::bad_request, "nodes='" + nodes + "' is unknown: write nodes=all or none");
}

/// Of what is longer there is none; so it is not sent.
std::string flow_of(const Request& request) {
  return std::string(request.parameters[0].substr(0, longest_id));
}

}  // namespace

void FlowAsker::ask(const Tenant& tenant, FlowRequest request, std::vector<std::byte> content,
                    FlowReplied done) const {
  control([&service = flows, tenant, request = std::move(request), content = std::move(content),
           back = here, done = std::move(done)]() mutable {
    service.ask(tenant, std::move(request), content,
                [back = std::move(back), done = std::move(done)](Result<FlowReply> reply) mutable {
                  back([done = std::move(done), reply = std::move(reply)]() mutable {
                    done(std::move(reply));
                  });
                });
  });
}

void FlowRoutes::add_to(Router& router) {
  const auto bind = [this](void (FlowRoutes::*handler)(Request&, const Reply&)) {
    return
        [this, handler](Request& request, const Reply& reply) { (this->*handler)(request, reply); };
  };
  router.add(Method::post, "/v1/flows",
             {.body = largest_flow_submission, .query = {nodes_parameter}},
             bind(&FlowRoutes::submit));
  router.add(Method::get, "/v1/flows", {}, asking(FlowAsk::list));
  router.add(Method::post, "/v1/flows/check", {.body = largest_flow_submission},
             bind(&FlowRoutes::check));
  router.add(Method::get, "/v1/flows/templates", {}, asking(FlowAsk::templates));
  router.add(Method::get, "/v1/flows/{}", {.query = {"wait", nodes_parameter}},
             bind(&FlowRoutes::show));
  router.add(Method::delete_, "/v1/flows/{}", {}, asking(FlowAsk::remove));
  router.add(Method::get, "/v1/flows/{}/events", {}, bind(&FlowRoutes::events));
  router.add(Method::get, "/v1/flows/{}/outputs", {}, asking(FlowAsk::outputs));
  router.add(Method::get, "/v1/flows/{}/logs", {}, asking(FlowAsk::log));
  router.add(Method::post, "/v1/flows/{}/cancel", {}, asking(FlowAsk::cancel));
  router.add(Method::post, "/v1/flows/{}/retry", {}, asking(FlowAsk::retry));
  router.add(Method::post, "/v1/flows/{}/resume", {}, asking(FlowAsk::resume));
}

Handler FlowRoutes::asking(FlowAsk ask) {
  return [this, ask](Request& request, const Reply& reply) {
    asker_.ask(
        request.identity.tenant, {.ask = ask, .flow = flow_of(request), .key = {}}, {},
        [reply](Result<FlowReply> answered) { reply.send(response_of(std::move(answered))); });
  };
}

void FlowRoutes::check(Request& request, const Reply& reply) {
  if (request.body.empty()) return reply.send(nothing_sent());
  asker_.ask(request.identity.tenant, {.ask = FlowAsk::check, .flow = {}, .key = {}},
             std::move(request.body),
             [reply](Result<FlowReply> answered) { reply.send(response_of(std::move(answered))); });
}

void FlowRoutes::submit(Request& request, const Reply& reply) {
  const std::string_view key = request.header(Header::idempotency_key);
  if (request.headers.has(Header::idempotency_key) && (key.empty() || key.size() > longest_key))
    return reply.send(to_response(problem_of(
        Failure{ErrorCode::bad_request, "Idempotency-Key must have 1 to 255 characters"})));
  if (request.body.empty()) return reply.send(nothing_sent());
  const auto brief = wants_no_nodes(request);
  if (!brief) return reply.send(to_response(problem_of(brief.error())));
  FlowRequest asked{.ask = FlowAsk::submit, .flow = {}, .key = std::string(key)};
  asked.brief = *brief;
  asker_.ask(request.identity.tenant, std::move(asked), std::move(request.body),
             [reply](Result<FlowReply> answered) {
               const bool is_done = answered && !answered->answer.failure;
               const bool is_new = is_done && answered->answer.is_new;
               Response response = response_of(std::move(answered));
               if (is_new) response.status = 201;
               if (is_done && !is_new) response.with("Idempotency-Replayed", "true");
               reply.send(std::move(response));
             });
}

void FlowRoutes::show(Request& request, const Reply& reply) {
  FlowRequest asked{.ask = FlowAsk::show, .flow = flow_of(request), .key = {}};
  if (const std::string wait = query_parameter(request.query, "wait"); !wait.empty()) {
    auto duration = parse_wait(wait);
    if (!duration) return reply.send(to_response(problem_of(duration.error())));
    asked.wait = std::min<std::chrono::milliseconds>(*duration, longest_flow_wait);
  }
  const auto brief = wants_no_nodes(request);
  if (!brief) return reply.send(to_response(problem_of(brief.error())));
  asked.brief = *brief;
  asker_.ask(request.identity.tenant, std::move(asked), {},
             [reply](Result<FlowReply> answered) { reply.send(response_of(std::move(answered))); });
}

void FlowRoutes::events(Request& request, const Reply& reply) {
  // What is no number is of another stream: it begins anew.
  const std::uint64_t since =
      parse_number<std::uint64_t>(request.header(Header::last_event_id)).value_or(0);
  FlowRequest asked{
      .ask = FlowAsk::news, .flow = flow_of(request), .key = {}, .since = since, .wait = {}};
  const Tenant tenant = request.identity.tenant;
  asker_.ask(tenant, asked, {},
             [this, reply, tenant, flow = asked.flow](Result<FlowReply> news) mutable {
               if (!news || news->answer.failure) return reply.send(response_of(std::move(news)));
               // 204 is what a reader that comes back by itself takes for the end.
               if (news->content.empty() && news->answer.last) return reply.send(no_content());
               auto place = streams_.enter(tenant.uid);
               if (!place) return reply.send(to_response(problem_of(place.error())));
               reply.send(event_stream_response(std::make_shared<FlowEvents>(
                   FlowEvents::Parts{asker_, std::move(*place), tenant, std::move(flow)},
                   std::move(*news))));
             });
}

}  // namespace orchid::gateway
