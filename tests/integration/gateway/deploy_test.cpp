// Functions: deploy, describe, delete, with real bitcode and a real inspector.
#include <doctest/doctest.h>
#include <signal.h>
#include <chrono>

#include <fstream>

#include "gateway_process.h"

namespace orchid::test {
namespace {

using Json = nlohmann::json;

TEST_CASE("a function is deployed, described, listed, and deleted") {
  GatewayProcess gateway;
  const std::string module = echo_module();
  const Answer made = gateway.ask({.method = "PUT", .path = "/v1/functions/echo", .body = module});
  REQUIRE(made.status == 201);
  const Json created = Json::parse(made.body);
  CHECK(created["name"] == "echo");
  CHECK(created["size"] == module.size());
  CHECK(created["entries"][0]["name"] == "echo");
  CHECK(made.header("etag") == "\"" + created["version"].get<std::string>() + "\"");

  CHECK(gateway.ask({.method = "PUT", .path = "/v1/functions/echo", .body = module}).status == 200);
  CHECK(Json::parse(gateway.ask({.path = "/v1/functions/echo"}).body)["version"] ==
        created["version"]);
  CHECK(Json::parse(gateway.ask({.path = "/v1/functions"}).body)["functions"].size() == 1);

  CHECK(
      gateway.ask({.method = "PUT", .path = "/v1/functions/echo", .body = echo_module(1)}).status ==
      201);
  const Json versions =
      Json::parse(gateway.ask({.path = "/v1/functions/echo/versions"}).body)["versions"];
  REQUIRE(versions.size() == 2);
  CHECK(versions[1]["version"] == created["version"]);
  const std::string prefix = created["version"].get<std::string>().substr(7, 12);
  CHECK(Json::parse(gateway.ask({.path = "/v1/functions/echo@" + prefix}).body)["version"] ==
        created["version"]);

  CHECK(gateway.ask({.method = "DELETE", .path = "/v1/functions/echo"}).status == 204);
  CHECK(gateway.ask({.path = "/v1/functions/echo"}).status == 404);
  CHECK(gateway.ask({.method = "DELETE", .path = "/v1/functions/echo"}).status == 404);
}

TEST_CASE("preconditions protect what is there") {
  GatewayProcess gateway;
  const std::string first = echo_module(1);
  const auto put = [&](const std::string& body, const std::string& headers) {
    return gateway.ask(
        {.method = "PUT", .path = "/v1/functions/f", .body = body, .headers = headers});
  };
  CHECK(put(first, "If-Match: *\r\n").status == 412);
  const Answer made = put(first, "If-None-Match: *\r\n");
  REQUIRE(made.status == 201);
  const Answer taken = put(echo_module(2), "If-None-Match: *\r\n");
  CHECK(taken.status == 412);
  CHECK(taken.body.find("taken") != std::string::npos);
  CHECK(put(echo_module(2), "If-Match: \"sha256:0\"\r\n").status == 412);
  CHECK(put(echo_module(2), "If-Match: " + made.header("etag") + "\r\n").status == 201);
}

TEST_CASE("bad modules are refused with a reason, and the next deploy works") {
  GatewayProcess gateway;
  const std::string module = echo_module();
  std::string damaged_container("\x10\xff\x10\xad\x01", 5);
  damaged_container.resize(100, 'x');
  for (const std::string& bad :
       {std::string("junk"), module.substr(0, module.size() / 2), damaged_container,
        compile_bitcode("int not_an_entry(void) { return 1; }\n"),
        compile_bitcode(
            "#include <orchid/function.h>\nint missing_one(void); int missing_two(void);\n"
            "ORCHID_ENTRY(f) { return missing_one() + missing_two(); }\n")}) {
    const Answer answer = gateway.ask({.method = "PUT", .path = "/v1/functions/bad", .body = bad});
    CHECK(answer.status == 422);
    const Json problem = Json::parse(answer.body);
    CHECK(problem["type"] == "urn:orchid:problem:module_rejected");
    CHECK(problem["detail"].get<std::string>().size() > 10);
  }
  CHECK(gateway.ask({.path = "/v1/functions/bad"}).status == 404);
  CHECK(gateway.ask({.method = "PUT", .path = "/v1/functions/good", .body = module}).status == 201);
}

TEST_CASE("bad names and empty bodies are 400") {
  GatewayProcess gateway;
  for (const char* name : {"1f", "a.b", "a%20b", "-x"}) {
    CAPTURE(name);
    CHECK(gateway.ask({.method = "PUT", .path = std::string("/v1/functions/") + name, .body = "x"})
              .status == 400);
  }
  CHECK(gateway.ask({.method = "PUT", .path = "/v1/functions/f"}).status == 400);
}

TEST_CASE("an accepted function survives a killed gateway") {
  GatewayProcess gateway;
  const Answer made =
      gateway.ask({.method = "PUT", .path = "/v1/functions/f", .body = echo_module(7)});
  REQUIRE(made.status == 201);
  const std::string token = gateway.token();
  gateway.kill();
  gateway.start();
  CHECK(gateway.token() == token);
  CHECK(gateway.ask({.path = "/v1/functions/f"}).header("etag") == made.header("etag"));
}

/// The process that inspects, a child of the gateway. Not before it runs its own program: until
/// then the gateway's thread that starts it waits, and stopping it would stop that thread.
pid_t inspector_of(pid_t gateway) {
  const std::string task = "/proc/" + std::to_string(gateway) + "/task/";
  for (const auto& thread : std::filesystem::directory_iterator(task)) {
    std::ifstream children(thread.path() / "children");
    pid_t child = 0;
    if (!(children >> child)) continue;
    std::ifstream file("/proc/" + std::to_string(child) + "/comm");
    std::string name;
    if (file >> name && name == "orchid-compiler") return child;
  }
  return 0;
}

/// Once there is one: it is started in the background. 0 after 10 s.
pid_t running_inspector_of(pid_t gateway) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  pid_t found = 0;
  while (found == 0 && std::chrono::steady_clock::now() < give_up) found = inspector_of(gateway);
  return found;
}

TEST_CASE("an inspector that was killed is replaced, and the deploy works") {
  GatewayProcess gateway;
  for (int i = 0; i < 3; ++i) {
    const pid_t inspector = running_inspector_of(gateway.pid());
    REQUIRE(inspector > 0);
    ::kill(inspector, SIGKILL);
    const Answer made =
        gateway.ask({.method = "PUT", .path = "/v1/functions/f", .body = echo_module(100 + i)});
    CHECK(made.status == 201);
  }
}

TEST_CASE("an inspector that stands still is replaced in time, and the deploy works") {
  GatewayProcess gateway({"--inspect-time", "500ms"});
  const pid_t inspector = running_inspector_of(gateway.pid());
  REQUIRE(inspector > 0);
  ::kill(inspector, SIGSTOP);
  const Answer made =
      gateway.ask({.method = "PUT", .path = "/v1/functions/f", .body = echo_module(200)});
  CHECK(made.status == 201);
  CHECK(inspector_of(gateway.pid()) != inspector);
}

}  // namespace
}  // namespace orchid::test
