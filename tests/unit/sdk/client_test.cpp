#include "orchid/client.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "clear_error.h"
#include "fake_gateway.h"

namespace orchid {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using tests::error_of;
using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

constexpr auto dot_document = R"json({"name":"dot","version":"sha256:aa","entries":[
  {"name":"dot","signature":"f64(span<f64>,span<f64>)"}],"targets":[],"size":1})json";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("the parts of a call add up to its total, what its caller alone sees included") {
  FakeGateway gateway([](const FakeRequest& request) {
    return FakeAnswer{.body = request.body,
                      .headers = {"Server-Timing: queue;dur=0.001, run;dur=0.002"}};
  });
  Client client({.gateway = gateway.address()});
  const std::string large(std::size_t{8} << 20, 'x');
  const auto is_whole = [](const CallTiming& t) {
    CHECK(t.connect + t.send + t.queue + t.place + t.compile + t.link + t.run + t.wait +
              t.receive ==
          t.total);
  };
  const CallTiming first = client.invoke("f", large).timing;
  is_whole(first);
  CHECK(first.connect.count() > 0);
  CHECK(first.send.count() > 0);
  CHECK(first.queue == microseconds(1));
  CHECK(first.run == microseconds(2));
  CHECK(first.wait.count() > 0);
  CHECK(first.receive.count() > 0);
  is_whole(client.invoke("f", large).timing);  // over the same connection
  is_whole(client.invoke("f", "").timing);
}

TEST_CASE("a call sends bytes, options and the token, and brings back bytes, id and timing") {
  FakeGateway gateway([](const FakeRequest& request) {
    return FakeAnswer{
        .body = request.body + std::string("\0!", 2),
        .headers = {"Orchid-Invocation: i-1", "Server-Timing: queue;dur=0.5, run;dur=2"}};
  });
  Client client({.gateway = gateway.address(), .token = "secret"});
  const Reply reply = client.invoke(
      "f.g@abcdef", std::string_view("a\0b", 3),
      {.deadline = milliseconds(250), .request_id = "r-7", .trace_parent = "00-a-b-01"});
  CHECK(reply.text() == std::string_view("a\0b\0!", 5));
  CHECK(reply.invocation == "i-1");
  CHECK(reply.timing.run == milliseconds(2));
  CHECK(reply.timing.total.count() > 0);
  const FakeRequest request = gateway.requests().at(0);
  CHECK(request.method == "POST");
  CHECK(request.target == "/v1/functions/f.g@abcdef/invocations");
  CHECK(request.header("authorization") == "Bearer secret");
  CHECK(request.header("orchid-deadline-ms") == "250");
  CHECK(request.header("x-request-id") == "r-7");
  CHECK(request.header("traceparent") == "00-a-b-01");
  CHECK(request.header("content-type") == "application/octet-stream");
}

TEST_CASE("calls one after the other use one connection") {
  FakeGateway gateway([](const FakeRequest&) { return FakeAnswer{}; });
  Client client({.gateway = gateway.address()});
  for (int i = 0; i < 5; ++i) (void)client.invoke("f", "x");
  for (const FakeRequest& request : gateway.requests()) CHECK(request.connection == 0);
}

TEST_CASE("a call that outlives the gateway's patience is waited for") {
  int polls = 0;
  FakeGateway gateway([&polls](const FakeRequest& request) -> FakeAnswer {
    if (request.method == "POST") return {.status = 202, .body = R"({"id":"i-9"})"};
    if (request.target.ends_with("/output")) return {.body = "late"};
    const bool done = ++polls == 3;
    return {.body = done ? R"({"id":"i-9","state":"done","outcome":"ok"})"
                         : R"({"id":"i-9","state":"running"})"};
  });
  Client client({.gateway = gateway.address()});
  const Reply reply = client.invoke("f", "x");
  CHECK(reply.text() == "late");
  CHECK(reply.invocation == "i-9");
  CHECK(polls == 3);
}

TEST_CASE("a failed call is an error of the kind that the gateway states") {
  FakeGateway gateway([](const FakeRequest&) {
    return FakeAnswer{
        .status = 502,
        .body = R"({"type":"urn:orchid:problem:function_error","detail":"no such row"})",
        .headers = {"Orchid-Outcome: function_error", "Orchid-Invocation: i-3"}};
  });
  Client client({.gateway = gateway.address()});
  const Error error = error_of([&] { (void)client.invoke("f", "x"); });
  CHECK(error.kind() == ErrorKind::function_error);
  CHECK(error.message() == "no such row");
  CHECK(error.invocation() == "i-3");
}

TEST_CASE("deploying sends the module, and the version that it may replace") {
  FakeGateway gateway(
      [](const FakeRequest&) { return FakeAnswer{.status = 201, .body = dot_document}; });
  Client client({.gateway = gateway.address()});
  const FunctionInfo info = client.deploy("dot", bytes_of("BC"), {.if_match = "sha256:00"});
  CHECK(info.version == "sha256:aa");
  const FakeRequest request = gateway.requests().at(0);
  CHECK(request.method == "PUT");
  CHECK(request.target == "/v1/functions/dot");
  CHECK(request.body == "BC");
  CHECK(request.header("if-match") == "\"sha256:00\"");
  CHECK(error_of([&] { (void)client.deploy_file("dot", "/tmp"); }).kind() ==
        ErrorKind::bad_configuration);
  CHECK(error_of([&] { (void)client.deploy_file("dot", "/nonexistent.orc"); }).kind() ==
        ErrorKind::bad_configuration);
}

TEST_CASE("what is handed over carries a key of its own, so that it cannot start twice") {
  FakeGateway gateway(
      [](const FakeRequest&) { return FakeAnswer{.status = 202, .body = R"({"id":"i-4"})"}; });
  Client client({.gateway = gateway.address()});
  CHECK(client.submit("f", bytes_of("x")).id() == "i-4");
  CHECK(client.submit("f", bytes_of("x")).id() == "i-4");
  (void)client.submit("f", bytes_of("x"), {.idempotency_key = "mine"});
  const auto requests = gateway.requests();
  CHECK(requests.at(0).header("prefer") == "respond-async");
  CHECK(requests.at(0).header("idempotency-key").size() > 16);
  CHECK(requests.at(0).header("idempotency-key") != requests.at(1).header("idempotency-key"));
  CHECK(requests.at(2).header("idempotency-key") == "mine");
}

TEST_CASE("an invocation's end, output, log and cancelling are asked for by its id") {
  FakeGateway gateway([](const FakeRequest& request) -> FakeAnswer {
    if (request.method == "DELETE") return {.status = 202, .body = "{}"};
    if (request.target.ends_with("/logs"))
      return {.body = "said\n", .headers = {"Orchid-Log-Dropped: 7000000000"}};
    return {
        .body =
            R"({"id":"i-5","state":"done","outcome":"limit_exceeded","message":"memory","function":"f"})"};
  });
  Client client({.gateway = gateway.address()});
  const Invocation invocation = client.invocation("i-5");
  CHECK(invocation.wait(milliseconds(0)).outcome == "limit_exceeded");
  CHECK(invocation.log().text == "said\n");
  CHECK(invocation.log().dropped == 7'000'000'000);
  invocation.cancel();
  CHECK(gateway.requests().back().target == "/v1/invocations/i-5");
  const Error error = error_of([&] { (void)invocation.output(); });
  CHECK(error.kind() == ErrorKind::limit_exceeded);
  CHECK(error.message() == "memory");
}

TEST_CASE("waiting ends when its time is up, and says how things stand") {
  FakeGateway gateway(
      [](const FakeRequest&) { return FakeAnswer{.body = R"({"id":"i-6","state":"queued"})"}; });
  Client client({.gateway = gateway.address()});
  CHECK(client.invocation("i-6").wait(milliseconds(0)).state == "queued");
  const Error error = error_of([&] { (void)client.invocation("i-6").output(milliseconds(0)); });
  CHECK(error.kind() == ErrorKind::timed_out);
  CHECK(error.message().find("queued") != std::string::npos);
}

TEST_CASE("whoever waits outlives a gateway that drops the connection") {
  int asked = 0;
  FakeGateway gateway([&asked](const FakeRequest&) {
    return ++asked < 3 ? FakeAnswer{.hang_up = true}
                       : FakeAnswer{.body = R"({"id":"i-7","state":"done","outcome":"ok"})"};
  });
  Client client({.gateway = gateway.address()});
  CHECK(client.invocation("i-7").wait(std::chrono::seconds(20)).finished());
}

TEST_CASE("nobody at the address, and nothing but silence, are told apart from an answer") {
  std::string address;
  {
    FakeGateway gateway([](const FakeRequest&) { return FakeAnswer{}; });
    address = gateway.address();
  }
  Client gone({.gateway = address});
  const Error refused = error_of([&] { (void)gone.functions(); });
  CHECK(refused.kind() == ErrorKind::unreachable);
  CHECK(std::string(refused.what()).find(refused.hint()) != std::string::npos);
  CHECK(refused.retryable());
  CHECK(refused.hint().find("orchid up") != std::string::npos);
  FakeGateway dropping([](const FakeRequest&) { return FakeAnswer{.hang_up = true}; });
  Client dropped({.gateway = dropping.address()});
  CHECK(error_of([&] { (void)dropped.functions(); }).kind() == ErrorKind::unreachable);
}

TEST_CASE("a typed function is checked once, and then called with values") {
  FakeGateway gateway([](const FakeRequest& request) -> FakeAnswer {
    if (request.method == "GET") return {.body = dot_document};
    const double result = 32;
    return {.body = std::string(reinterpret_cast<const char*>(&result), sizeof(result))};
  });
  Client client({.gateway = gateway.address()});
  auto dot = client.function<double(std::span<const double>, std::span<const double>)>("dot");
  const std::vector<double> a{1, 2, 3};
  CHECK(dot(a, a) == 32);
  CHECK(dot(a, a) == 32);
  const auto requests = gateway.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[1].target == "/v1/functions/dot.dot/invocations");
  CHECK(requests[1].body == text_of(values::encode_all(a, a)));
  CHECK(requests[1].header("orchid-signature") == "f64(span<f64>,span<f64>)");
}

TEST_CASE(
    "a typed function of other types, or an entry that is not there, is refused before any call") {
  FakeGateway gateway([](const FakeRequest&) { return FakeAnswer{.body = dot_document}; });
  Client client({.gateway = gateway.address()});
  const Error other = error_of([&] { (void)client.function<float(float)>("dot"); });
  CHECK(other.kind() == ErrorKind::signature_mismatch);
  CHECK(other.message().find("f64(span<f64>,span<f64>)") != std::string::npos);
  CHECK(error_of([&] { (void)client.function<float(float)>("dot.none"); }).kind() ==
        ErrorKind::not_found);
}

TEST_CASE("an output that is not of the stated type is an error, not a wrong number") {
  FakeGateway gateway([](const FakeRequest& request) -> FakeAnswer {
    return {.body = request.method == "GET" ? dot_document : "short"};
  });
  Client client({.gateway = gateway.address()});
  auto dot = client.function<double(std::span<const double>, std::span<const double>)>("dot");
  CHECK(error_of([&] { (void)dot({}, {}); }).kind() == ErrorKind::signature_mismatch);
}

TEST_CASE("a Unix socket is used as it is, also where its path is too long for the kernel") {
  std::string pattern = "/tmp/orchid-test-XXXXXX";
  const std::filesystem::path directory = ::mkdtemp(pattern.data());
  {
    FakeGateway gateway(directory / "gateway.sock", [](const FakeRequest&) {
      return FakeAnswer{.body = R"({"functions":[]})"};
    });
    CHECK(Client({.gateway = gateway.address()}).functions().empty());
    const auto deep = directory / std::string(120, 'd');
    std::filesystem::create_directory(deep);
    std::filesystem::create_hard_link(directory / "gateway.sock", deep / "gateway.sock");
    CHECK(Client({.gateway = "unix:" + (deep / "gateway.sock").string()}).functions().empty());
  }
  std::filesystem::remove_all(directory);
}

TEST_CASE("a line break in an option does not become a header of its own") {
  FakeGateway gateway([](const FakeRequest&) { return FakeAnswer{}; });
  Client client({.gateway = gateway.address()});
  CHECK(error_of([&] { (void)client.invoke("f", "x", {.request_id = "a\r\nX-Evil: 1"}); }).kind() ==
        ErrorKind::bad_request);
  CHECK(gateway.requests().empty());
}

}  // namespace orchid
