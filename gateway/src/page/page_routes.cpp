#include "page/page_routes.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "foundation/files.h"
#include "foundation/json_document.h"
#include "http/json_text.h"
#include "http/precondition.h"
#include "http/problem.h"

namespace orchid::gateway {
namespace {

using Json = nlohmann::ordered_json;

constexpr ByteCount largest_login{4096};

/// Nothing but our own files, no frame around us, and no way out for what somebody smuggled in.
/// Pictures of outputs are made in the page (blob:).
constexpr std::string_view content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob:; frame-ancestors 'none'; form-action 'self'; base-uri 'none'";

Response refusal(const Failure& failure) { return to_response(problem_of(failure)); }

/// The contents are the program's own, and nobody's to keep.
Payload payload_of(std::string_view content) {
  return {as_bytes(content),
          std::shared_ptr<const void>(std::shared_ptr<const void>(), content.data())};
}

void add_safety(Response& response) {
  response.with("Content-Security-Policy", content_security_policy)
      .with("Referrer-Policy", "no-referrer")
      .with("Cross-Origin-Opener-Policy", "same-origin")
      .with("Cross-Origin-Resource-Policy", "same-origin");
}

/// What people type in the address bar.
std::string_view short_path(std::string_view name) {
  if (name == "index.html") return "/";
  if (name == "editor/editor.html") return "/flows/edit";
  return {};
}

}  // namespace

void PageRoutes::add_to(Router& router) {
  const auto bind = [this](void (PageRoutes::*handler)(Request&, const Reply&)) {
    return
        [this, handler](Request& request, const Reply& reply) { (this->*handler)(request, reply); };
  };
  router.add(Method::post, "/v1/page/links", {}, bind(&PageRoutes::make_link));
  router.add(Method::post, "/v1/page/session", {.is_public = true, .body = largest_login},
             bind(&PageRoutes::log_in));
  router.add(Method::get, "/v1/page/session", {}, bind(&PageRoutes::show_session));
  router.add(Method::delete_, "/v1/page/session", {}, bind(&PageRoutes::log_out));
  add_files(router);
}

void PageRoutes::add_files(Router& router) {
  for (const PageFile& file : page_files()) {
    const RouteOptions open{.is_public = true};
    router.add(Method::get, "/page/" + std::string(file.name), open,
               showing(file, &PageGate::refuse));
    if (const std::string_view path = short_path(file.name); !path.empty())
      router.add(Method::get, std::string(path), open, showing(file, &PageGate::refuse_name));
  }
}

Handler PageRoutes::showing(const PageFile& file, Check refuse) const {
  return [&gate = parts_.gate, &file, refuse](Request& request, const Reply& reply) {
    if (auto refused = (gate.*refuse)(request)) return reply.send(std::move(*refused));
    Response response;
    response.content_type = file.content_type;
    add_safety(response);
    // Asked for each time, since the next version of the gateway has the same paths.
    response.with("ETag", "\"" + std::string(file.tag) + "\"").with("Cache-Control", "no-cache");
    if (names_tag(request.header(Header::if_none_match), file.tag)) {
      response.status = 304;
    } else {
      response.payload = payload_of(file.content);
    }
    reply.send(std::move(response));
  };
}

void PageRoutes::make_link(Request& request, const Reply& reply) {
  // Not with a cookie: who has borrowed a browser for a minute is not to lend the right further.
  auto secret = parts_.sessions.make_link({.authorization = request.header(Header::authorization),
                                           .peer_uid = request.identity.peer_uid});
  if (!secret) return reply.send(refusal(secret.error()));
  // Behind '#': a browser keeps it to itself, so it is in nobody's log.
  Response response = json_response(
      201, json_text(Json{{"path", "/#link=" + *secret},
                          {"addresses", parts_.addresses},
                          {"ends_in_ms", parts_.sessions.options().link_time.count()}}));
  reply.send(std::move(response.with("Cache-Control", "no-store")));
}

void PageRoutes::log_in(Request& request, const Reply& reply) {
  if (auto refused = parts_.gate.refuse(request)) return reply.send(std::move(*refused));
  const JsonDocument document(as_text(request.body), {.subject = "the login"});
  const JsonObject any = document.root().optional();
  const std::string token = any.text("token");
  const std::string link = any.text("link");
  if (auto read = document.finish(); !read) return reply.send(refusal(read.error()));
  if (token.empty() == link.empty())
    return reply.send(refusal({ErrorCode::bad_request, "a login has either a token or a link"}));
  auto secret =
      link.empty() ? parts_.sessions.open_by_token(token) : parts_.sessions.open_by_link(link);
  if (!secret) return reply.send(refusal(secret.error()));
  Response response;
  response.status = 204;
  reply.send(std::move(response.with("Set-Cookie", parts_.gate.cookie(request, *secret))
                           .with("Cache-Control", "no-store")));
}

void PageRoutes::show_session(Request& request, const Reply& reply) {
  Json json{{"tenant", request.identity.tenant.name}, {"version", ORCHID_VERSION}};
  if (auto found = parts_.sessions.find(PageGate::secret_of(request)))
    json["ends_in_ms"] = found->left.count();
  reply.send(std::move(json_response(200, json_text(json)).with("Cache-Control", "no-store")));
}

void PageRoutes::log_out(Request& request, const Reply& reply) {
  parts_.sessions.close(PageGate::secret_of(request));
  Response response;
  response.status = 204;
  reply.send(std::move(response.with("Set-Cookie", PageGate::no_cookie(request))));
}

}  // namespace orchid::gateway
