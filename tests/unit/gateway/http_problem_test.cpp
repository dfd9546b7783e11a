#include "http/problem.h"

#include <doctest/doctest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace orchid::gateway {
namespace {

TEST_CASE("each outcome has its status, and those that may be repeated say when") {
  using Row = std::pair<Outcome, unsigned>;
  constexpr std::array rows{Row{Outcome::function_error, 502},
                            Row{Outcome::function_crashed, 502},
                            Row{Outcome::function_exited, 502},
                            Row{Outcome::limit_exceeded, 502},
                            Row{Outcome::deadline_exceeded, 504},
                            Row{Outcome::cancelled, 409},
                            Row{Outcome::evicted, 503},
                            Row{Outcome::worker_lost, 503},
                            Row{Outcome::no_capacity, 503},
                            Row{Outcome::bad_request, 400},
                            Row{Outcome::denied, 403}};
  for (const auto& [outcome, status] : rows) {
    CAPTURE(to_string(outcome));
    CallResult result;
    result.outcome = outcome;
    const Problem problem = problem_of(result);
    CHECK(problem.status == status);
    CHECK(problem.code == to_string(outcome));
    CHECK(problem.retry_after_s.has_value() == (status == 503));
    CHECK(problem.retryable == (status == 503));
    const Response response = to_response(problem);
    CHECK(response.headers.find("Orchid-Outcome: " + std::string(to_string(outcome))) !=
          std::string::npos);
  }
}

TEST_CASE("a problem document has a stable type and all that is known of the invocation") {
  CallResult result;
  result.outcome = Outcome::function_crashed;
  result.message = "signal 11";
  result.node = "n1";
  result.attempt = 2;
  Problem problem = problem_of(result);
  problem.invocation = "i-0123456789abcdef";
  problem.function = "f.g";
  const auto json = nlohmann::json::parse(to_json(problem));
  CHECK(json["type"] == "urn:orchid:problem:function_crashed");
  CHECK(json["status"] == 502);
  CHECK(json["detail"] == "signal 11");
  CHECK(json["invocation"] == "i-0123456789abcdef");
  CHECK(json["function"] == "f.g");
  CHECK(json["node"] == "n1");
  CHECK(json["attempt"] == 2);
  CHECK(json["retryable"] == false);
}

TEST_CASE("a message that is not UTF-8 still makes a valid document") {
  CallResult result;
  result.outcome = Outcome::function_error;
  result.message = "bad \xff byte";
  CHECK(nlohmann::json::accept(to_json(problem_of(result))));
}

TEST_CASE("a refused invocation names an outcome, another refused request none") {
  const Failure failure{ErrorCode::not_found, "no such function"};
  CHECK(problem_of_invocation(failure).outcome == Outcome::bad_request);
  CHECK_FALSE(problem_of(failure).outcome.has_value());
  CHECK(problem_of(failure).status == 404);
}

TEST_CASE(
    "an unauthenticated client is told how to authenticate, one over a quota when to come back") {
  const Response who = to_response(problem_of(Failure{ErrorCode::unauthenticated, ""}));
  CHECK(who.status == 401);
  CHECK(who.headers.find("WWW-Authenticate: Bearer") != std::string::npos);
  const Response later = to_response(problem_of(Failure{ErrorCode::quota, ""}));
  CHECK(later.status == 429);
  CHECK(later.headers.find("Retry-After: ") != std::string::npos);
}

TEST_CASE("a header value cannot end its line") {
  Response response;
  response.with("X", "a\r\nEvil: b");
  CHECK(response.headers == "X: aEvil: b\r\n");
}

TEST_CASE("a response's head states type and length, and 204 neither") {
  std::string head;
  render_head(json_response(200, "{}"), {.common = "Server: s\r\n", .echoed = "X: y\r\n"}, head);
  CHECK(head ==
        "HTTP/1.1 200 OK\r\nServer: s\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX: "
        "y\r\n\r\n");
  Response none;
  none.status = 204;
  render_head(none, {.keep_alive = false}, head);
  CHECK(head == "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

}  // namespace
}  // namespace orchid::gateway
