// HTTP itself: who may ask, and what happens to requests that are late, large, broken or many.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "foundation/files.h"
#include "foundation/tcp.h"
#include "gateway_process.h"

namespace orchid::test {
namespace {

/// Started once: these tests change nothing that the others see.
GatewayProcess& gateway() {
  static GatewayProcess process;
  return process;
}

TEST_CASE("only health, version and the API description are for strangers") {
  for (const char* path : {"/healthz", "/version", "/openapi.yaml", "/v1/flow.schema.json"}) {
    CAPTURE(path);
    HttpConnection connection = gateway().connect();
    connection.send(request_text({.path = path}));
    CHECK(connection.receive().status == 200);
  }
  for (const char* path :
       {"/v1/functions", "/v1/limits", "/v1/hosts", "/metrics", "/v1/invocations", "/nothing"}) {
    CAPTURE(path);
    HttpConnection connection = gateway().connect();
    connection.send(request_text({.path = path}));
    const Answer answer = connection.receive();
    CHECK(answer.status == 401);
    CHECK(answer.header("www-authenticate").starts_with("Bearer"));
    CHECK(answer.header("content-type") == "application/problem+json");
    connection.send(request_text({.path = path, .token = "orc_wrong"}));
    CHECK(connection.receive().status == 401);
  }
}

TEST_CASE("the token opens TCP over both address families, and the Unix socket needs none") {
  REQUIRE(gateway().url_count() == (has_ipv6_loopback() ? 2 : 1));
  CHECK(gateway().url(0).starts_with("http://127.0.0.1:"));
  if (has_ipv6_loopback()) CHECK(gateway().url(1).starts_with("http://[::1]:"));
  for (std::size_t i = 0; i < gateway().url_count(); ++i) {
    HttpConnection connection = HttpConnection::to_url(gateway().url(i));
    connection.send(request_text({.path = "/v1/functions", .token = gateway().token()}));
    CHECK(connection.receive().status == 200);
  }
  HttpConnection local = HttpConnection::to_socket(gateway().socket());
  local.send(request_text({.path = "/v1/functions"}));
  CHECK(local.receive().status == 200);
}

TEST_CASE("the token's file and the state directory are for the owner alone") {
  namespace fs = std::filesystem;
  CHECK((fs::status(gateway().state() / "token").permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write));
  CHECK((fs::status(gateway().state()).permissions() & fs::perms::mask) == fs::perms::owner_all);
}

TEST_CASE("pipelined requests are answered in their order") {
  HttpConnection connection = gateway().connect();
  const std::string token = gateway().token();
  std::string all;
  for (int i = 0; i < 50; ++i)
    all += request_text({.path = i % 2 == 0 ? "/v1/limits" : "/version",
                         .headers = "X-Request-Id: r" + std::to_string(i) + "\r\n",
                         .token = token});
  connection.send(all);
  for (int i = 0; i < 50; ++i) {
    const Answer answer = connection.receive();
    CHECK(answer.status == 200);
    CHECK(answer.header("x-request-id") == "r" + std::to_string(i));
  }
}

TEST_CASE(
    "a client that closes its sending side still gets all answers, then the connection ends") {
  HttpConnection connection = gateway().connect();
  const std::string one = request_text({.path = "/version"});
  connection.send(one + one + one);
  connection.close_sending_side();
  for (int i = 0; i < 3; ++i) CHECK(connection.receive().status == 200);
  CHECK(connection.closed(std::chrono::seconds(5)));
}

TEST_CASE("a star asks what the gateway as a whole takes, and only OPTIONS may ask") {
  HttpConnection connection = gateway().connect();
  connection.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
  const Answer answer = connection.receive(true);
  CHECK(answer.status == 204);
  CHECK(answer.header("allow") == "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS");
  connection.send("GET * HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(connection.receive().status == 400);
}

TEST_CASE("a target with scheme and host is the path in it") {
  HttpConnection connection = gateway().connect();
  connection.send("GET http://elsewhere:99/version HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(connection.receive().status == 200);
  connection.send("GET http://elsewhere HTTP/1.1\r\nHost: localhost\r\n\r\n");  // the page
  CHECK(connection.receive().header("content-type") == "text/html; charset=utf-8");
  for (const char* target : {"https://x/version", "ftp://x/version", "http:///version"}) {
    CAPTURE(target);
    HttpConnection other = gateway().connect();
    other.send("GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(other.receive().status == 400);
  }
}

TEST_CASE("an empty line before a request is skipped, also when it comes in pieces") {
  HttpConnection connection = gateway().connect();
  const std::string one = "\r\n" + request_text({.path = "/version"});
  connection.send(one + one);
  CHECK(connection.receive().status == 200);
  CHECK(connection.receive().status == 200);
  for (const char c : one) connection.send({&c, 1});
  CHECK(connection.receive().status == 200);
  connection.send("\r\n" + one);
  CHECK(connection.receive().status == 400);
}

TEST_CASE("a query that a path does not take is 400, of whatever path") {
  const std::string long_key = "/v1/invocations?key=" + std::string(256, 'k');
  for (const char* path :
       {"/version?x=1", "/healthz?x", "/metrics?x=1", "/v1/functions?state=done",
        "/v1/functions/f?concurrency=1", "/v1/invocations?state=",
        "/v1/invocations?limit=5&limit=5", "/v1/invocations?state=DONE", "/v1/invocations?limit=0",
        "/v1/hosts?job=1&job=2", "/v1/hosts?job=", "/v1/hosts?jobs=1", "/v1/leases?x=1",
        "/v1/placement?core=1", "/v1/placement?cores=65537", "/v1/placement?cores=%2",
        "/v1/demand?x=1", "/v1/executors/connect?x=1", long_key.c_str()}) {
    CAPTURE(path);
    const Answer answer = gateway().ask({.path = path});
    CHECK(answer.status == 400);
    CHECK(answer.header("content-type") == "application/problem+json");
  }
  const Answer call =
      gateway().ask({.method = "POST", .path = "/v1/functions/f/invocations?wait=5s"});
  CHECK(call.status == 400);
  CHECK(call.header("orchid-outcome") == "bad_request");
  HttpConnection stranger = gateway().connect();
  stranger.send(request_text({.path = "/v1/hosts?nothing=1"}));
  CHECK(stranger.receive().status == 401);
}

TEST_CASE("a request that comes byte by byte is understood") {
  HttpConnection connection = gateway().connect();
  for (const char c : request_text({.path = "/version"})) connection.send({&c, 1});
  CHECK(connection.receive().status == 200);
}

TEST_CASE("HEAD has the header of GET and no body, also on a kept connection") {
  HttpConnection connection = gateway().connect();
  connection.send(request_text({.method = "HEAD", .path = "/version"}) +
                  request_text({.path = "/version"}));
  const Answer head = connection.receive(true);
  const Answer get = connection.receive();
  CHECK(head.status == 200);
  CHECK(head.header("content-length") == std::to_string(get.body.size()));
}

TEST_CASE("an unknown path is 404, a known one with another method 405 with what it takes") {
  CHECK(gateway().ask({.path = "/v1/nothing"}).status == 404);
  const Answer answer = gateway().ask({.method = "PATCH", .path = "/v1/functions/f"});
  CHECK(answer.status == 405);
  CHECK(answer.header("allow") == "PUT, GET, HEAD, DELETE");
}

TEST_CASE("an HTTP/1.0 connection ends after its answer, an HTTP/1.1 one on demand") {
  HttpConnection old = gateway().connect();
  old.send("GET /version HTTP/1.0\r\n\r\n");
  CHECK(old.receive().status == 200);
  CHECK(old.closed(std::chrono::seconds(5)));
  HttpConnection polite = gateway().connect();
  polite.send(request_text({.path = "/version", .headers = "Connection: close\r\n"}));
  CHECK(polite.receive().header("connection") == "close");
  CHECK(polite.closed(std::chrono::seconds(5)));
}

TEST_CASE("what is not HTTP is answered 400 and cut off") {
  for (const char* text :
       {"hello\r\n\r\n", "GET\r\n\r\n", "GET /version HTTP/9.9\r\nHost: x\r\n\r\n",
        "GET /version HTTP/1.1\r\n\r\n", "GET /version HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET version HTTP/1.1\r\nHost: x\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /version HTTP/1.1\r\nHost: x\r\nBad Field: y\r\n\r\n"}) {
    CAPTURE(text);
    HttpConnection connection = gateway().connect();
    connection.send(text);
    const Answer answer = connection.receive();
    CHECK((answer.status == 400 || answer.status == 505));
    CHECK(answer.header("connection") == "close");
    CHECK(connection.closed(std::chrono::seconds(5)));
  }
}

TEST_CASE("a body whose length is stated in two ways is not believed") {
  for (const char* fields :
       {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n", "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Content-Length: -1\r\n"}) {
    CAPTURE(fields);
    HttpConnection connection = gateway().connect();
    connection.send("POST /v1/functions/f/invocations HTTP/1.1\r\nHost: x\r\n" +
                    std::string(fields) + "\r\nabc");
    const Answer answer = connection.receive();
    CHECK((answer.status == 400 || answer.status == 501));
    CHECK(connection.closed(std::chrono::seconds(5)));
  }
}

TEST_CASE("a header over the limit is 431") {
  HttpConnection connection = gateway().connect();
  connection.send("GET /version HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(20'000, 'a') +
                  "\r\n\r\n");
  CHECK(connection.receive().status == 431);
}

TEST_CASE(
    "a body over the limit is refused before it is sent, a stranger's before its size matters") {
  const std::string start =
      "PUT /v1/functions/f HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n";
  HttpConnection connection = gateway().connect();
  connection.send(start + "Expect: 100-continue\r\nAuthorization: Bearer " + gateway().token() +
                  "\r\n\r\n");
  const Answer answer = connection.receive();
  CHECK(answer.status == 413);
  CHECK(answer.body.find("64 MiB") != std::string::npos);
  HttpConnection stranger = gateway().connect();
  stranger.send(start + "\r\n");
  CHECK(stranger.receive().status == 401);
}

TEST_CASE("a refused small body is skipped, and the connection goes on") {
  HttpConnection connection = gateway().connect();
  connection.send(request_text(
      {.method = "POST", .path = "/v1/functions/f/invocations", .body = "GET / HTTP/1.1"}));
  const Answer refused = connection.receive();
  CHECK(refused.status == 401);
  CHECK(refused.header("orchid-outcome") == "denied");
  connection.send(request_text({.path = "/version"}));
  CHECK(connection.receive().status == 200);
}

TEST_CASE("a chunked body arrives, and one over the limit is 413") {
  HttpConnection connection = gateway().connect();
  const std::string head =
      "PUT /v1/functions/f HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
      "Authorization: Bearer " +
      gateway().token() + "\r\n\r\n";
  connection.send(head + "4;ext=1\r\njunk\r\n3\r\nmor\r\n0\r\nTrailer: x\r\n\r\n");
  CHECK(connection.receive().status == 422);
  connection.send(head);
  const std::string chunk = "100000\r\n" + std::string(0x100000, 'x') + "\r\n";
  for (int i = 0; i < 66; ++i) connection.send(chunk);
  CHECK(connection.receive().status == 413);
  HttpConnection announced = gateway().connect();
  announced.send(head + "4000001\r\n");  // 64 MiB and a byte, of which none comes
  CHECK(announced.receive().status == 413);
  HttpConnection sum = gateway().connect();
  sum.send(head + "4\r\njunk\r\n3fffffd\r\n");
  CHECK(sum.receive().status == 413);
}

TEST_CASE("100-continue is answered before the body is read") {
  HttpConnection connection = gateway().connect();
  connection.send(
      "PUT /v1/functions/f HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n"
      "Authorization: Bearer " +
      gateway().token() + "\r\n\r\n");
  CHECK(connection.receive().status == 100);
  connection.send("junk");
  CHECK(connection.receive().status == 422);
}

TEST_CASE("slow clients are answered 408: in the header, and in the body") {
  GatewayProcess hurried({"--header-time", "400ms", "--body-time", "400ms"});
  HttpConnection header = hurried.connect();
  header.send("GET /version HTTP/1.1\r\nHo");
  CHECK(header.receive().status == 408);
  CHECK(header.closed(std::chrono::seconds(5)));
  HttpConnection body = hurried.connect();
  body.send(
      "PUT /v1/functions/f HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nAuthorization: Bearer " +
      hurried.token() + "\r\n\r\nabc");
  CHECK(body.receive().status == 408);
}

TEST_CASE("a body that trickles in is answered 408, though a byte comes now and then") {
  GatewayProcess slow({"--body-time", "500ms"});
  HttpConnection body = slow.connect();
  body.send(
      "PUT /v1/functions/f HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\nAuthorization: "
      "Bearer " +
      slow.token() + "\r\n\r\n");
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!body.readable(std::chrono::milliseconds(50)) &&
         std::chrono::steady_clock::now() < give_up)
    body.send("x");
  CHECK(body.receive().status == 408);
}

TEST_CASE("chunked bodies count for the memory of large bodies too") {
  GatewayProcess small({"--body-memory", "64MiB", "--http-threads", "1"});
  const auto head =
      "PUT /v1/functions/f HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
      "Authorization: Bearer " +
      small.token() + "\r\n\r\n";
  const std::string chunk = "1000000\r\n" + std::string(16U << 20, 'x') + "\r\n";  // 16 MiB
  // 48 MiB each: one of them has room.
  HttpConnection first = small.connect();
  HttpConnection second = small.connect();
  for (HttpConnection* connection : {&first, &second}) {
    connection->send(head);
    for (int i = 0; i < 3; ++i) connection->send(chunk);
  }
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!first.readable(std::chrono::milliseconds(20)) &&
         !second.readable(std::chrono::milliseconds(20)) &&
         std::chrono::steady_clock::now() < give_up) {
  }
  HttpConnection& refused = first.readable(std::chrono::milliseconds(0)) ? first : second;
  const Answer answer = refused.receive();
  CHECK(answer.status == 503);
  CHECK(answer.body.find("too many large requests") != std::string::npos);
}

TEST_CASE("a connection without requests ends after the idle time, without an answer") {
  GatewayProcess hurried({"--idle-time", "1500ms"});
  HttpConnection connection = hurried.connect();
  connection.send(request_text({.path = "/version"}));
  CHECK(connection.receive().status == 200);
  CHECK(connection.closed(std::chrono::seconds(10)));
}

TEST_CASE("trace context and request ids come back") {
  const Answer answer = gateway().ask(
      {.path = "/v1/limits",
       .headers =
           "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nX-Request-Id: "
           "abc\r\n"});
  CHECK(answer.header("traceparent") == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  CHECK(answer.header("x-request-id") == "abc");
}

TEST_CASE("the served API description is the one of the source tree") {
  const auto file = read_file(ORCHID_OPENAPI, 1_MiB);
  REQUIRE(file.has_value());
  CHECK(gateway().ask({.path = "/openapi.yaml"}).body == as_text(*file));
}

TEST_CASE("the served schema of flows is the one of the source tree") {
  const auto file = read_file(ORCHID_FLOW_SCHEMA, 1_MiB);
  REQUIRE(file.has_value());
  CHECK(gateway().ask({.path = "/v1/flow.schema.json"}).body == as_text(*file));
}

/// The methods of each path, as docs/openapi.yaml has them: "GET, HEAD, PUT", sorted.
std::map<std::string, std::set<std::string>> described_paths(std::string_view yaml) {
  std::map<std::string, std::set<std::string>> paths;
  std::istringstream lines{std::string(yaml)};
  std::string path;
  for (std::string line; std::getline(lines, line) && line != "components:";) {
    if (line.starts_with("  /")) path = line.substr(2, line.size() - 3);
    for (const char* method : {"get", "put", "post", "patch", "delete"})
      if (!path.empty() && line == "    " + std::string(method) + ":") {
        std::string upper = method;
        std::ranges::transform(upper, upper.begin(),
                               [](unsigned char c) { return std::toupper(c); });
        paths[path].insert(upper);
        if (upper == "GET") paths[path].insert("HEAD");
      }
  }
  return paths;
}

TEST_CASE("every path of the API description takes the methods that it names, and no others") {
  const auto paths = described_paths(gateway().ask({.path = "/openapi.yaml"}).body);
  CHECK(paths.size() > 10);
  for (const auto& [path, methods] : paths) {
    CAPTURE(path);
    std::string real = path;
    for (std::size_t open = 0; (open = real.find('{')) != std::string::npos;)
      real.replace(open, real.find('}') - open + 1, "x");
    const Answer answer = gateway().ask({.method = "OPTIONS", .path = real});
    REQUIRE(answer.status == 405);
    std::set<std::string> allowed;
    std::istringstream list{answer.header("allow")};
    for (std::string method; std::getline(list >> std::ws, method, ',');) allowed.insert(method);
    CHECK(allowed == methods);
  }
}

TEST_CASE("metrics count answers by status") {
  const Answer answer = gateway().ask({.path = "/metrics"});
  CHECK(answer.status == 200);
  CHECK(answer.body.find("orchid_http_requests_total{code=\"200\"}") != std::string::npos);
  CHECK(answer.body.find("orchid_invocation_duration_seconds_bucket{le=\"+Inf\"}") !=
        std::string::npos);
}

TEST_CASE("without an executor the gateway is alive, but not ready, and says what is missing") {
  CHECK(gateway().ask({.path = "/healthz"}).status == 200);
  const Answer answer = gateway().ask({.path = "/readyz"});
  CHECK(answer.status == 503);
  CHECK(answer.body.find("executor") != std::string::npos);
  CHECK(nlohmann::json::parse(gateway().ask({.path = "/v1/hosts"}).body)["hosts"].empty());
  const auto of_job = nlohmann::json::parse(gateway().ask({.path = "/v1/hosts?job=17"}).body);
  CHECK(of_job["hosts"].empty());
  CHECK_FALSE(of_job.contains("clusters"));
  CHECK(gateway().ask({.path = "/v1/hosts?job=17x"}).status == 400);
}

TEST_CASE("executors connect with a WebSocket and nothing else") {
  const Answer plain = gateway().ask({.path = "/v1/executors/connect"});
  CHECK(plain.status == 426);
  const Answer upgraded =
      gateway().ask({.path = "/v1/executors/connect",
                     .headers = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                                "Sec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"});
  CHECK(upgraded.status == 101);
  CHECK(upgraded.header("sec-websocket-accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

}  // namespace
}  // namespace orchid::test
