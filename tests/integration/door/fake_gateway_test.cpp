// The real orchid-door in front of a gateway that answers as a test says.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "clear_error.h"
#include "fake_gateway.h"
#include "foundation/tcp.h"
#include "orchid/client.h"
#include "processes/child_process.h"

namespace orchid::tests {
namespace {

/// orchid-door, started as a gateway starts it.
class Door {
 public:
  explicit Door(FakeGateway::Handler handler) {
    std::string pattern = "/tmp/orchid-door-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    gateway.emplace(directory_ / "door.sock", [handler](const FakeRequest& request) {
      if (request.target != "/v1/limits") return handler(request);
      if (request.header("authorization") == "Bearer orc_right") return FakeAnswer{.body = "{}"};
      return FakeAnswer{.status = 401, .body = R"({"detail":"says the gateway"})"};
    });
    auto listener = listen_tcp("127.0.0.1:0");
    REQUIRE(listener.has_value());
    url_ = "ucx://" + listener->address;
    const std::string socket = (directory_ / "door.sock").string();
    auto started = processes::ChildProcess::start(
        {.program = PROGRAMS "/orchid-door",
         .arguments = {"--listen", "3", "--gateway", socket, "--clients", "4"},
         .descriptors = {{.from = listener->socket.get(), .as = 3}}});
    REQUIRE(started.has_value());
    process_.emplace(std::move(*started));
  }
  ~Door() {
    process_.reset();
    gateway.reset();
    std::filesystem::remove_all(directory_);
  }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  [[nodiscard]] Client client(const std::string& token = "orc_right") const {
    return Client({.gateway = url_, .token = token});
  }
  std::optional<FakeGateway> gateway;

 private:
  std::filesystem::path directory_;
  std::string url_;
  std::optional<processes::ChildProcess> process_;
};

}  // namespace

TEST_CASE("requests and answers go through the door as they are") {
  Door door([](const FakeRequest& request) {
    return FakeAnswer{.body = request.body + "!", .headers = {"Orchid-Invocation: i-7"}};
  });
  Client client = door.client();
  const Reply reply = client.invoke("f.g", "input", {.request_id = "r-1"});
  CHECK(reply.text() == "input!");
  CHECK(reply.invocation == "i-7");
  const FakeRequest request = door.gateway->requests().back();
  CHECK(request.method == "POST");
  CHECK(request.target == "/v1/functions/f.g/invocations");
  CHECK(request.header("authorization") == "Bearer orc_right");
  CHECK(request.header("x-request-id") == "r-1");
  CHECK(request.body == "input");
  // A kept connection asks about the token once only.
  (void)client.invoke("f.g", "again");
  CHECK(door.gateway->requests().size() == 3);
}

TEST_CASE("the gateway's refusal of a token is the client's answer") {
  Door door([](const FakeRequest&) { return FakeAnswer{}; });
  const Error error = error_of([&] { (void)door.client("orc_other").get("/v1/functions"); });
  CHECK(error.kind() == ErrorKind::unauthenticated);
  CHECK(error.message() == "says the gateway");
  CHECK(door.gateway->requests().size() == 1);
}

TEST_CASE("a gateway that goes away is unreachable, and what it may have done is not repeated") {
  Door door([](const FakeRequest& request) {
    return request.method == "POST" ? FakeAnswer{.hang_up = true} : FakeAnswer{.body = "{}"};
  });
  Client client = door.client();
  CHECK(client.get("/v1/functions") == "{}");
  const Error lost = error_of([&] { (void)client.invoke("f", "input"); });
  CHECK(lost.kind() == ErrorKind::unreachable);
  CHECK(lost.http_status() == 0);
  CHECK_FALSE(lost.retryable());
  CHECK(lost.message().find("may have done") != std::string::npos);
  std::size_t posts = 0;
  for (const FakeRequest& request : door.gateway->requests())
    if (request.method == "POST") ++posts;
  CHECK(posts == 1);
  CHECK(client.get("/v1/functions") == "{}");

  door.gateway.reset();
  const Error gone = error_of([&] { (void)client.invoke("f", "input"); });
  CHECK(gone.kind() == ErrorKind::unreachable);
  CHECK(gone.retryable());
  CHECK(gone.message().find("does not answer") != std::string::npos);
  const Error kept_out = error_of([&] { (void)door.client().get("/v1/functions"); });
  CHECK(kept_out.kind() == ErrorKind::unreachable);
}

TEST_CASE("a door has so many places, and says so when they are taken") {
  Door door([](const FakeRequest&) { return FakeAnswer{.body = "{}"}; });
  std::vector<Client> clients;
  for (int inside = 0; inside < 4; ++inside) {
    clients.push_back(door.client());
    CHECK(clients.back().get("/v1/functions") == "{}");
  }
  const Error full = error_of([&] { (void)door.client().get("/v1/functions"); });
  CHECK(full.kind() == ErrorKind::no_capacity);
  CHECK(full.retryable());
}

}  // namespace orchid::tests
