#include "http/router.h"

#include <doctest/doctest.h>

namespace orchid::gateway {
namespace {

Router make_router() {
  Router router;
  router.add(Method::post, "/v1/functions/{}/invocations", {}, nullptr);
  router.add(Method::get, "/v1/functions", {}, nullptr);
  router.add(Method::get, "/v1/functions/{}", {}, nullptr);
  router.add(Method::put, "/v1/functions/{}", {}, nullptr);
  router.add(Method::get, "/v1/functions/{}/versions", {}, nullptr);
  return router;
}

TEST_CASE("a path with a parameter finds its route and the parameter") {
  const Router router = make_router();
  const auto found = router.find(Method::post, "/v1/functions/a.b@123456/invocations");
  const auto* match = std::get_if<RouteMatch>(&found);
  REQUIRE(match != nullptr);
  CHECK(match->route->pattern == "/v1/functions/{}/invocations");
  CHECK(match->parameters[0] == "a.b@123456");
}

TEST_CASE("a HEAD request is answered by the GET route") {
  const Router router = make_router();
  const auto found = router.find(Method::head, "/v1/functions");
  CHECK(std::holds_alternative<RouteMatch>(found));
}

TEST_CASE("a route for WebSockets is one for GET, and has both handlers") {
  Router router;
  bool accepted = false;
  router.add_websocket(
      "/v1/executors/connect", [&](UniqueFd, const Request&) { accepted = true; },
      [](Request&, const Reply&) {});
  const auto found = router.find(Method::get, "/v1/executors/connect");
  const auto* match = std::get_if<RouteMatch>(&found);
  REQUIRE(match != nullptr);
  CHECK(match->route->handler);
  match->route->websocket(UniqueFd(), {});
  CHECK(accepted);
  CHECK(std::holds_alternative<MethodNotAllowed>(router.find(Method::post, match->route->pattern)));
}

TEST_CASE("a known path with another method names the methods that it takes") {
  const Router router = make_router();
  const auto found = router.find(Method::delete_, "/v1/functions/x");
  const auto* refused = std::get_if<MethodNotAllowed>(&found);
  REQUIRE(refused != nullptr);
  CHECK(refused->allow == "GET, HEAD, PUT");
}

TEST_CASE("a path that is a pattern itself is no parameter of a pattern that was added later") {
  Router router;
  router.add(Method::post, "/v1/flows/check", {}, {});
  router.add(Method::delete_, "/v1/flows/{}", {}, {});
  CHECK(std::holds_alternative<RouteMatch>(router.find(Method::post, "/v1/flows/check")));
  const auto found = router.find(Method::delete_, "/v1/flows/check");
  const auto* refused = std::get_if<MethodNotAllowed>(&found);
  REQUIRE(refused != nullptr);
  CHECK(refused->allow == "POST");
  CHECK(std::holds_alternative<RouteMatch>(router.find(Method::delete_, "/v1/flows/checks")));
}

TEST_CASE("the methods of all routes are named once, and HEAD with GET") {
  CHECK(make_router().all_methods() == "GET, HEAD, PUT, POST");
}

TEST_CASE("a path that is longer, shorter, or has an empty parameter is not known") {
  const Router router = make_router();
  for (const char* path : {"/v1", "/v1/functions/", "/v1/functions/x/", "/v1/functions//versions",
                           "/v1/functions/x/versions/y", "", "v1/functions", "//v1/functions"}) {
    CAPTURE(path);
    CHECK(std::holds_alternative<NoSuchPath>(router.find(Method::get, path)));
  }
}

}  // namespace
}  // namespace orchid::gateway
