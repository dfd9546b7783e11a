// Streams of events without an executor: whose they are, how they end, and what ends them early.
// How a running call is followed is in integration/system.
#include <doctest/doctest.h>

#include "foundation/files.h"
#include "gateway_process.h"

namespace orchid::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr const char* no_chunk = "0\r\n\r\n";

struct EventsFixture {
  explicit EventsFixture(std::vector<std::string> flags = {}) : gateway(std::move(flags)) {
    REQUIRE(gateway.ask({.method = "PUT", .path = "/v1/functions/echo", .body = echo_module()})
                .status == 201);
  }
  /// An accepted call, which waits until its deadline, since there is nobody to run it.
  std::string submit(int deadline_ms = 60'000) {
    const Answer accepted = gateway.ask(
        {.method = "POST",
         .path = "/v1/functions/echo/invocations",
         .body = "input",
         .headers = "Prefer: respond-async\r\nOrchid-Deadline-Ms: " + std::to_string(deadline_ms) +
                    "\r\n"});
    REQUIRE(accepted.status == 202);
    return Json::parse(accepted.body)["id"];
  }
  HttpConnection follow(const std::string& id, const std::string& headers = "") {
    HttpConnection connection = gateway.connect();
    connection.send(request_text({.path = "/v1/invocations/" + id + "/events",
                                  .headers = headers,
                                  .token = gateway.token()}));
    return connection;
  }
  /// Asks until `line` is among the metrics.
  void wait_for_metric(const std::string& line) {
    const auto give_up = std::chrono::steady_clock::now() + seconds(10);
    while (gateway.ask({.path = "/metrics"}).body.find("\n" + line + "\n") == std::string::npos)
      REQUIRE_MESSAGE(std::chrono::steady_clock::now() < give_up, line);
  }
  GatewayProcess gateway;
};

/// Of the next event of that name, which is complete.
Json data_of(HttpConnection& connection, const std::string& name) {
  const std::string before = connection.receive_until("event: " + name + "\n");
  connection.receive_until("data: ");
  return Json::parse(connection.receive_until("\n"));
}

TEST_CASE("a call that waits is followed to its end, and its document is the last event") {
  EventsFixture fixture({"--event-pause", "50ms"});
  const std::string id = fixture.submit(1'500);
  HttpConnection connection = fixture.follow(id);
  const Answer head = connection.receive(true);
  CHECK(head.status == 200);
  CHECK(head.header("content-type") == "text/event-stream");
  CHECK(head.header("transfer-encoding") == "chunked");
  CHECK(head.header("cache-control") == "no-store");
  CHECK(connection.receive_until("\ndata: ").ends_with("event: state\nid: queued\ndata: "));
  const Json queued = Json::parse(connection.receive_until("\n"));
  CHECK(queued["id"] == id);
  CHECK(queued["state"] == "queued");
  connection.receive_until(": still here\n");
  const Json done = data_of(connection, "done");
  CHECK(done["outcome"] == "deadline_exceeded");
  CHECK(done == Json::parse(fixture.gateway.ask({.path = "/v1/invocations/" + id}).body));
  CHECK(connection.receive_rest().ends_with(no_chunk));
}

TEST_CASE_FIXTURE(EventsFixture,
                  "a reader that comes back hears the present state, and no end twice") {
  const std::string id = submit(1'000);
  HttpConnection again = follow(id, "Last-Event-ID: queued\r\n");
  CHECK(again.receive(true).status == 200);
  CHECK(data_of(again, "state")["state"] == "queued");
  CHECK(data_of(again, "done")["outcome"] == "deadline_exceeded");
  CHECK(follow(id, "Last-Event-ID: done\r\n").receive().status == 204);
  for (const char* last : {"", "Last-Event-ID: queued\r\n", "Last-Event-ID: nonsense\r\n"}) {
    CAPTURE(last);
    HttpConnection late = follow(id, last);
    CHECK(late.receive(true).status == 200);
    const std::string rest = late.receive_rest();
    CHECK(rest.find("event: done\nid: done\ndata: ") != std::string::npos);
    CHECK(rest.find("event: state") == std::string::npos);
    CHECK(rest.ends_with(no_chunk));
  }
}

TEST_CASE_FIXTURE(EventsFixture, "a call that waits for its answer is followed too") {
  HttpConnection caller = gateway.connect();
  caller.send(request_text({.method = "POST",
                            .path = "/v1/functions/echo/invocations",
                            .headers = "Orchid-Deadline-Ms: 3000\r\n",
                            .token = gateway.token()}));
  Json running;
  const auto give_up = std::chrono::steady_clock::now() + seconds(10);
  while (running.empty()) {
    REQUIRE(std::chrono::steady_clock::now() < give_up);
    running = Json::parse(gateway.ask({.path = "/v1/invocations"}).body)["invocations"];
  }
  HttpConnection connection = follow(running[0]["id"]);
  CHECK(connection.receive(true).status == 200);
  const Answer answer = caller.receive();
  const Json done = data_of(connection, "done");
  CHECK(done["mode"] == "sync");
  CHECK(done["outcome"] == answer.header("orchid-outcome"));
}

TEST_CASE_FIXTURE(EventsFixture, "what is no invocation of the caller's cannot be followed") {
  for (const char* id : {"x", "i-0000000000000000", "i-0100000000000000", "i-ff00000000000000"}) {
    CAPTURE(id);
    HttpConnection connection = follow(id);
    const Answer answer = connection.receive();
    CHECK(answer.status == 404);
    CHECK(answer.body == gateway.ask({.path = std::string("/v1/invocations/") + id}).body);
  }
  const std::string path = "/v1/invocations/" + submit() + "/events";
  CHECK(gateway.ask({.path = path + "?wait=1s"}).status == 400);
  CHECK(gateway.ask({.method = "DELETE", .path = path}).status == 405);
  HttpConnection stranger = gateway.connect();
  stranger.send(request_text({.path = path}));
  CHECK(stranger.receive().status == 401);
}

TEST_CASE("another user's call is as unknown as one that never was") {
  EventsFixture fixture({"--token-users", "nobody"});
  const std::string id = fixture.submit();
  const auto users = std::filesystem::directory_iterator(fixture.gateway.state() / "tokens");
  const auto content = read_file(begin(users)->path(), 4_KiB);
  REQUIRE(content.has_value());
  std::string token(as_text(*content));
  token.pop_back();
  HttpConnection other = fixture.gateway.connect();
  std::vector<Answer> answers;
  for (const std::string& path : {id + "/events", id}) {
    other.send(request_text({.path = "/v1/invocations/" + path, .token = token}));
    answers.push_back(other.receive());
    CHECK(answers.back().status == 404);
  }
  CHECK(answers[0].body == answers[1].body);
}

TEST_CASE_FIXTURE(EventsFixture, "HEAD tells what GET would, and has no stream") {
  const std::string id = submit();
  const Answer head = gateway.ask({.method = "HEAD", .path = "/v1/invocations/" + id + "/events"});
  CHECK(head.status == 200);
  CHECK(head.header("content-type") == "text/event-stream");
  CHECK(gateway.ask({.method = "HEAD", .path = "/v1/invocations/x/events"}).status == 404);
  wait_for_metric("orchid_http_event_streams 0");
}

TEST_CASE("a user has so many streams and no more, and one that goes away makes room") {
  EventsFixture fixture({"--event-streams", "2", "--http-threads", "2"});
  const std::string id = fixture.submit();
  HttpConnection first = fixture.follow(id);
  HttpConnection second = fixture.follow(id);
  CHECK(first.receive(true).status == 200);
  CHECK(second.receive(true).status == 200);
  fixture.wait_for_metric("orchid_http_event_streams 2");
  const Answer refused = fixture.follow(id).receive();
  CHECK(refused.status == 429);
  CHECK(refused.header("retry-after") == "5");
  CHECK(refused.body.find("2 event streams are open") != std::string::npos);
  second.close();
  fixture.wait_for_metric("orchid_http_event_streams 1");
  HttpConnection third = fixture.follow(id);
  CHECK(third.receive(true).status == 200);
}

TEST_CASE_FIXTURE(EventsFixture, "a gateway that stops ends its streams, and a later one goes on") {
  const std::string id = submit();
  HttpConnection connection = follow(id);
  CHECK(connection.receive(true).status == 200);
  CHECK(data_of(connection, "state")["state"] == "queued");
  CHECK(gateway.stop() == 0);
  const std::string rest = connection.receive_rest();
  CHECK(rest.find(": the gateway is stopping\n") != std::string::npos);
  CHECK(rest.find("event: ") == std::string::npos);
  CHECK(rest.ends_with(no_chunk));
  gateway.start();
  HttpConnection again = follow(id, "Last-Event-ID: queued\r\n");
  CHECK(again.receive(true).status == 200);
  CHECK(data_of(again, "state")["state"] == "queued");
}

}  // namespace
}  // namespace orchid::test
