// Invocations without an executor: what is accepted, what is refused, what waits.
#include <doctest/doctest.h>

#include "gateway_process.h"

namespace orchid::test {
namespace {

using Json = nlohmann::json;

struct Fixture {
  Fixture() {
    REQUIRE(gateway.ask({.method = "PUT", .path = "/v1/functions/echo", .body = echo_module()})
                .status == 201);
  }
  Answer invoke(const std::string& headers, const std::string& function = "echo") {
    return gateway.ask({.method = "POST",
                        .path = "/v1/functions/" + function + "/invocations",
                        .body = "input",
                        .headers = headers});
  }
  GatewayProcess gateway;
};

TEST_CASE_FIXTURE(
    Fixture,
    "a synchronous call without an executor is 503 within its deadline, and may be repeated") {
  const auto began = std::chrono::steady_clock::now();
  const Answer answer = invoke("Orchid-Deadline-Ms: 5000\r\n");
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(6));
  CHECK(answer.status == 503);
  CHECK(answer.header("orchid-outcome") == "no_capacity");
  CHECK(answer.header("retry-after") == "1");
  const Json problem = Json::parse(answer.body);
  CHECK(problem["type"] == "urn:orchid:problem:no_capacity");
  CHECK(problem["retryable"] == true);
  CHECK(problem["invocation"] == answer.header("orchid-invocation"));
  const Answer after =
      gateway.ask({.path = "/v1/invocations/" + answer.header("orchid-invocation")});
  CHECK(after.status == 200);
  CHECK(Json::parse(after.body)["outcome"] == "no_capacity");
  CHECK(gateway.ask({.path = "/v1/invocations/" + answer.header("orchid-invocation") + "/output"})
            .status == 503);
}

TEST_CASE_FIXTURE(Fixture, "what cannot be called is refused, and names an outcome") {
  CHECK(invoke("", "none").status == 404);
  CHECK(invoke("", "echo.other").status == 404);
  CHECK(invoke("", "echo@aaaaaaaaaaaa").status == 404);
  CHECK(invoke("", "echo@xyz").status == 400);
  CHECK(invoke("Orchid-Deadline-Ms: never\r\n").status == 400);
  const Answer wrong = invoke("Orchid-Signature: f64(f64)\r\n");
  CHECK(wrong.status == 400);
  CHECK(wrong.header("orchid-outcome") == "bad_request");
  CHECK(wrong.body.find("f64(f64)") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture,
                  "an asynchronous call is accepted, waits in the queue, and is cancelled there") {
  const Answer accepted = invoke("Prefer: respond-async\r\n");
  REQUIRE(accepted.status == 202);
  const std::string id = Json::parse(accepted.body)["id"];
  CHECK(accepted.header("location") == "/v1/invocations/" + id);
  const Json waiting =
      Json::parse(gateway.ask({.path = "/v1/invocations/" + id + "?wait=300ms"}).body);
  CHECK(waiting["state"] == "queued");
  CHECK(waiting["entry"] == "echo");
  CHECK(gateway.ask({.path = "/v1/invocations/" + id + "/output"}).status == 409);
  CHECK(Json::parse(gateway.ask({.path = "/v1/invocations?state=queued"}).body)["invocations"]
            .size() == 1);
  CHECK(gateway.ask({.method = "DELETE", .path = "/v1/invocations/" + id}).status == 202);
  const Json ended = Json::parse(gateway.ask({.path = "/v1/invocations/" + id + "?wait=10s"}).body);
  CHECK(ended["state"] == "done");
  CHECK(ended["outcome"] == "cancelled");
  CHECK(gateway.ask({.method = "DELETE", .path = "/v1/invocations/" + id}).status == 409);
  CHECK(gateway.ask({.path = "/v1/invocations/" + id + "/logs"}).status == 200);
}

TEST_CASE_FIXTURE(Fixture, "a synchronous call that outlives its wait becomes asynchronous") {
  const Answer answer = invoke("Prefer: wait=1\r\n");
  REQUIRE(answer.status == 202);
  const std::string id = Json::parse(answer.body)["id"];
  CHECK(answer.header("location") == "/v1/invocations/" + id);
  const Json found = Json::parse(gateway.ask({.path = "/v1/invocations/" + id}).body);
  CHECK(found["mode"] == "async");
  CHECK(found["state"] != "done");
}

TEST_CASE_FIXTURE(Fixture, "an accepted invocation is still there after the gateway was killed") {
  const std::string id = Json::parse(invoke("Prefer: respond-async\r\n").body)["id"];
  gateway.kill();
  gateway.start();
  const Json found = Json::parse(gateway.ask({.path = "/v1/invocations/" + id}).body);
  CHECK(found["id"] == id);
  CHECK(found["state"] == "queued");
}

TEST_CASE_FIXTURE(Fixture, "an asynchronous call whose deadline passes in the queue ends there") {
  const Answer accepted = invoke("Prefer: respond-async\r\nOrchid-Deadline-Ms: 200\r\n");
  const std::string id = Json::parse(accepted.body)["id"];
  const Json ended = Json::parse(gateway.ask({.path = "/v1/invocations/" + id + "?wait=10s"}).body);
  CHECK(ended["outcome"] == "deadline_exceeded");
  CHECK(gateway.ask({.path = "/v1/invocations/" + id + "/output"}).status == 504);
}

TEST_CASE_FIXTURE(
    Fixture,
    "the same idempotency key is the same invocation, for another function it is refused") {
  const std::string headers = "Prefer: respond-async\r\nIdempotency-Key: k1\r\n";
  const Answer first = invoke(headers);
  const Answer second = invoke(headers);
  CHECK(first.status == 202);
  CHECK(second.status == 202);
  CHECK(Json::parse(first.body)["id"] == Json::parse(second.body)["id"]);
  CHECK(second.header("idempotency-replayed") == "true");
  REQUIRE(gateway.ask({.method = "PUT", .path = "/v1/functions/other", .body = echo_module(3)})
              .status == 201);
  CHECK(invoke(headers, "other").status == 422);
  const Answer refused = gateway.ask({.method = "POST",
                                      .path = "/v1/functions/echo/invocations",
                                      .body = "another input",
                                      .headers = headers});
  CHECK(refused.status == 422);
  CHECK(refused.header("orchid-outcome") == "bad_request");
  CHECK(Json::parse(refused.body)["type"] == "urn:orchid:problem:conflict");
  CHECK(refused.body.find(std::string(Json::parse(first.body)["id"])) != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "names of preferences have no case") {
  CHECK(invoke("Prefer: Respond-Async\r\n").status == 202);
}

TEST_CASE_FIXTURE(Fixture, "what is not an invocation is 404") {
  for (const char* id : {"x", "i-0000000000000000", "i-0100000000000000", "i-ff00000000000000"}) {
    CAPTURE(id);
    const Answer unknown = gateway.ask({.path = std::string("/v1/invocations/") + id});
    CHECK(unknown.status == 404);
    // A document names an invocation only by what is an id.
    CHECK(Json::parse(unknown.body).contains("invocation") == (id[0] == 'i'));
    CHECK(gateway.ask({.method = "DELETE", .path = std::string("/v1/invocations/") + id}).status ==
          404);
  }
}

TEST_CASE("ten thousand queued calls take no thread each, and there is a limit") {
  GatewayProcess gateway({"--queued", "10000"});
  REQUIRE(
      gateway.ask({.method = "PUT", .path = "/v1/functions/echo", .body = echo_module()}).status ==
      201);
  const auto threads = [&] {
    const auto tasks =
        std::filesystem::directory_iterator("/proc/" + std::to_string(gateway.pid()) + "/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto before = threads();
  HttpConnection connection = gateway.connect();
  const std::string one = request_text({.method = "POST",
                                        .path = "/v1/functions/echo/invocations",
                                        .body = "x",
                                        .headers = "Prefer: respond-async\r\n",
                                        .token = gateway.token()});
  std::size_t accepted = 0;
  constexpr std::size_t batch = 50;
  for (std::size_t sent = 0; sent < 10'000; sent += batch) {
    std::string text;
    for (std::size_t i = 0; i < batch; ++i) text += one;
    connection.send(text);
    for (std::size_t i = 0; i < batch; ++i)
      if (connection.receive().status == 202) ++accepted;
  }
  CHECK(accepted == 10'000);
  CHECK(threads() == before);
  connection.send(one);
  const Answer over = connection.receive();
  CHECK(over.status == 429);
  CHECK(!over.header("retry-after").empty());
}

}  // namespace
}  // namespace orchid::test
