// Start and end: configuration, a second gateway, graceful shutdown.
#include <doctest/doctest.h>

#include <fstream>

#include "foundation/random.h"
#include "gateway_process.h"

namespace orchid::test {
namespace {

TEST_CASE("a stopped gateway ends with status 0 and leaves no socket") {
  GatewayProcess gateway;
  const auto socket = gateway.socket();
  CHECK(std::filesystem::exists(socket));
  HttpConnection idle = gateway.connect();
  CHECK(gateway.stop() == 0);
  CHECK_FALSE(std::filesystem::exists(socket));
  CHECK(idle.closed(std::chrono::seconds(5)));
}

TEST_CASE("a call that outlives the gateway's patience is told so before its connection ends") {
  GatewayProcess gateway({"--drain-time", "200ms"});
  REQUIRE(
      gateway.ask({.method = "PUT", .path = "/v1/functions/echo", .body = echo_module()}).status ==
      201);
  HttpConnection waiting = gateway.connect();
  waiting.send(request_text(
      {.method = "POST", .path = "/v1/functions/echo/invocations", .token = gateway.token()}));
  // Its turn has come once a later request on another connection has been answered.
  CHECK(gateway.ask({.path = "/v1/limits"}).status == 200);
  CHECK(gateway.stop() == 0);
  const Answer answer = waiting.receive();
  CHECK(answer.header("orchid-outcome") == "cancelled");
  CHECK(answer.body.find("the gateway is stopping") != std::string::npos);
  CHECK(waiting.closed(std::chrono::seconds(5)));
}

TEST_CASE("a second gateway on the same state directory is told who is there") {
  GatewayProcess gateway;
  const Ended ended = run_to_end({ORCHID_GATEWAY, "--state", gateway.state().string()});
  CHECK(ended.status == 3);
  CHECK(ended.errors.find("process " + std::to_string(gateway.pid())) != std::string::npos);
}

TEST_CASE("two gateways run side by side") {
  GatewayProcess one;
  GatewayProcess two;
  CHECK(one.url() != two.url());
  CHECK(two.ask({.path = "/v1/functions"}).status == 200);
}

TEST_CASE("what is wrong in the configuration is named") {
  const auto state = std::filesystem::temp_directory_path() / ("orchid-config-" + random_hex(6));
  const auto file = state.string() + ".toml";
  const auto start_with = [&](const std::string& content) {
    std::ofstream(file) << content;
    return run_to_end({ORCHID_GATEWAY, "--config", file, "--state", state.string()});
  };
  const Ended unknown = start_with("htpp_threads = 2\n");
  CHECK(unknown.status == 2);
  CHECK(unknown.errors.find("htpp_threads") != std::string::npos);
  CHECK(start_with("http_threads = 0\n").errors.find("from 1 to 64") != std::string::npos);
  CHECK(start_with("http_threads = [\n").status == 2);
  const Ended name = start_with("listen = [\"no-such-host.invalid:0\"]\n");
  CHECK(name.status == 3);
  CHECK(name.errors.find("no-such-host.invalid") != std::string::npos);
  // Not port 0, which is what is left of it in 16 bits.
  const Ended port = start_with("listen = [\"127.0.0.1:65536\"]\n");
  CHECK(port.status == 3);
  CHECK(port.errors.find("'127.0.0.1:65536' is not an address") != std::string::npos);
  const Ended door = start_with("[door]\nlisten = \"nowhere\"\n");
  CHECK(door.status == 3);
  CHECK(door.errors.find("door_listen") != std::string::npos);
  CHECK(start_with("[door]\nlitsen = \"127.0.0.1:0\"\n").errors.find("door_litsen") !=
        std::string::npos);
  CHECK(start_with("[door.more]\nlisten = \"127.0.0.1:0\"\n").status == 2);
  CHECK(run_to_end({ORCHID_GATEWAY, "--no-such-flag"}).status == 2);
  std::filesystem::remove(file);
  std::filesystem::remove_all(state);
}

TEST_CASE("a state directory that others may write to is refused") {
  const auto state = std::filesystem::temp_directory_path() / ("orchid-open-" + random_hex(6));
  std::filesystem::create_directory(state);
  std::filesystem::permissions(state, std::filesystem::perms::all);
  const Ended ended = run_to_end({ORCHID_GATEWAY, "--state", state.string()});
  CHECK(ended.status == 3);
  CHECK(ended.errors.find(state.string()) != std::string::npos);
  std::filesystem::remove_all(state);
}

TEST_CASE("a gateway with a door announces it, and knows nobody at its socket by the uid") {
  const auto file = std::filesystem::temp_directory_path() / ("orchid-door-" + random_hex(6));
  std::ofstream(file) << "[door]\nlisten = \"127.0.0.1:0\"\nclients = 7\n";
  {
    GatewayProcess gateway({"--config", file.string()});
    CHECK(gateway.door().starts_with("ucx://127.0.0.1:"));
    const auto ask_at = [](const std::filesystem::path& socket, const Ask& ask) {
      HttpConnection connection = HttpConnection::to_socket(socket);
      connection.send(request_text(ask));
      return connection.receive().status;
    };
    const auto socket = gateway.state() / "door.sock";
    CHECK(ask_at(gateway.socket(), {.path = "/v1/functions"}) == 200);
    CHECK(ask_at(socket, {.path = "/v1/functions"}) == 401);
    CHECK(ask_at(socket, {.path = "/v1/functions", .token = gateway.token()}) == 200);
    CHECK(ask_at(socket, {.path = "/healthz"}) == 200);
    CHECK(gateway.stop() == 0);
    CHECK_FALSE(std::filesystem::exists(socket));
  }
  std::filesystem::remove(file);
  GatewayProcess without;
  CHECK(without.door().empty());
  CHECK_FALSE(std::filesystem::exists(without.state() / "door.sock"));
}

TEST_CASE("a socket path that is too long for the kernel works") {
  GatewayProcess gateway;
  const auto deep = gateway.state() / std::string(100, 'd') / std::string(60, 'e');
  std::filesystem::create_directories(deep);
  GatewayProcess other({"--socket", (deep / "gateway.sock").string()});
  CHECK(std::filesystem::exists(deep / "gateway.sock"));
  CHECK(other.ask({.path = "/healthz"}).status == 200);
}

TEST_CASE("a missing compiler is said at a deploy, and the gateway lives") {
  GatewayProcess gateway({"--compiler", "/nonexistent/orchid-compiler"});
  CHECK(gateway.ask({.path = "/healthz"}).status == 200);
  CHECK(gateway.ask({.path = "/readyz"}).body.find("orchid-compiler") != std::string::npos);
  const Answer refused = gateway.ask({.method = "PUT", .path = "/v1/functions/f", .body = "x"});
  CHECK(refused.status == 503);
  CHECK(refused.body.find("orchid-compiler") != std::string::npos);
}

}  // namespace
}  // namespace orchid::test
