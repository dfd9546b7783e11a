// The ordinary life of functions and calls.
#include <chrono>
#include <future>
#include <memory>

#include "system_fixture.h"

namespace orchid::tests {

TEST_CASE_FIXTURE(SystemFixture, "deploy, list, describe, invoke, delete") {
  const auto deployed =
      orchid({"deploy", std::string(EXAMPLES) + "/echo.bc", "--name", "echo", "--json"});
  REQUIRE_MESSAGE(deployed.status == 0, deployed.err);
  CHECK(Json::parse(deployed.out).at("name") == "echo");
  CHECK(contains(orchid({"list"}).out, "echo"));
  CHECK(contains(orchid({"describe", "echo"}).out, "sha256:"));
  const std::string bytes("raw \0 bytes \xff, and nothing else", 31);
  CHECK(orchid({"invoke", "echo"}, bytes).out == bytes);
  const std::string large(20'000'000, 'x');
  CHECK(orchid({"invoke", "echo"}, large).out == large);
  CHECK(orchid({"delete", "echo"}).status == 0);
  CHECK(orchid({"invoke", "echo"}, bytes).status == 2);
}

TEST_CASE_FIXTURE(SystemFixture,
                  "an asynchronous call is accepted, can be waited for, and keeps its result") {
  deploy("sleeps");
  const auto submitted = orchid({"invoke", "sleeps", "--async"}, "100");
  REQUIRE_MESSAGE(submitted.status == 0, submitted.err);
  std::string id = submitted.out;
  id.erase(id.find_last_not_of('\n') + 1);
  CHECK(id.starts_with("i-"));
  CHECK(orchid({"wait", id}).status == 0);
  CHECK(orchid({"result", id}).out == "100");
  CHECK(contains(orchid({"status", id}).out, "ok"));
}

TEST_CASE_FIXTURE(SystemFixture, "a running call can be cancelled") {
  deploy("loops");
  const auto submitted = orchid({"invoke", "loops", "--async"});
  std::string id = submitted.out;
  id.erase(id.find_last_not_of('\n') + 1);
  CHECK(orchid({"cancel", id}).status == 0);
  CHECK(orchid({"wait", id}).status == 1);
  CHECK(contains(orchid({"status", id}).out, "cancelled"));
}

TEST_CASE_FIXTURE(SystemFixture, "logs reach `orchid logs`, each with its own call") {
  deploy("logs_unflushed");
  for (const char* input : {"one", "two"}) {
    const Http answer = http("POST", "/v1/functions/logs_unflushed/invocations", input);
    REQUIRE(answer.status == 200);
    const std::size_t at = answer.headers.find("Orchid-Invocation: ") + 19;
    const std::string id = answer.headers.substr(at, answer.headers.find('\r', at) - at);
    CHECK(contains(orchid({"logs", id}).out, std::string("unflushed ") + input));
  }
}

TEST_CASE_FIXTURE(SystemFixture, "the documented description of the API is served") {
  const Http answer = http("GET", "/openapi.yaml");
  CHECK(answer.status == 200);
  CHECK(contains(answer.body, "openapi: 3"));
  CHECK(contains(answer.body, "/v1/functions/{name}"));
  CHECK(http("GET", "/healthz").status == 200);
  CHECK(http("GET", "/readyz").status == 200);
  CHECK(Json::parse(http("GET", "/v1/limits").body).is_object());
}

TEST_CASE_FIXTURE(SystemFixture, "a function with a concurrency limit runs its calls one by one") {
  const auto deployed = orchid(
      {"deploy", std::string(FUNCTIONS) + "/sleeps.bc", "--name", "sleeps", "--concurrency", "1"});
  REQUIRE_MESSAGE(deployed.status == 0, deployed.err);
  CHECK(Json::parse(orchid({"describe", "sleeps", "--json"}).out).at("concurrency") == 1);
  const auto start = std::chrono::steady_clock::now();
  const auto submitted = orchid({"invoke", "sleeps", "--async"}, "300");
  REQUIRE_MESSAGE(submitted.status == 0, submitted.err);
  auto first = std::async(std::launch::async, [&] { return orchid({"invoke", "sleeps"}, "300"); });
  CHECK(orchid({"invoke", "sleeps"}, "300").out == "300");
  CHECK(first.get().out == "300");
  std::string id = submitted.out;
  id.erase(id.find_last_not_of('\n') + 1);
  CHECK(orchid({"wait", id}).status == 0);
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(900));
  // Another limit is no new version.
  const auto version = Json::parse(orchid({"describe", "sleeps", "--json"}).out);
  CHECK(http("PUT", "/v1/functions/sleeps?concurrency=none", "").status == 400);
  REQUIRE(orchid({"deploy", std::string(FUNCTIONS) + "/sleeps.bc", "--name", "sleeps",
                  "--concurrency", "0"})
              .status == 0);
  const auto lifted = Json::parse(orchid({"describe", "sleeps", "--json"}).out);
  CHECK(lifted.at("concurrency").is_null());
  CHECK(lifted.at("versions") == version.at("versions"));
}

TEST_CASE_FIXTURE(SystemFixture, "callers beyond what may wait for a limited function get 429") {
  REQUIRE(orchid({"deploy", std::string(FUNCTIONS) + "/sleeps.bc", "--name", "sleeps",
                  "--concurrency", "1"})
              .status == 0);
  std::vector<std::future<Http>> calls;
  for (int i = 0; i < 40; ++i)
    calls.push_back(std::async(std::launch::async, [this] {
      return http("POST", "/v1/functions/sleeps/invocations", "300");
    }));
  int answered = 0;
  int refused = 0;
  for (auto& call : calls) {
    const Http answer = call.get();
    if (answer.status == 429) {
      ++refused;
      CHECK(contains(answer.headers, "Retry-After: "));
    } else {
      CHECK(answer.status == 200);
      ++answered;
    }
  }
  CHECK(refused > 0);
  CHECK(answered > 16);
}

TEST_CASE_FIXTURE(SystemFixture, "which code ran is told with each call") {
  deploy("counts_calls");
  const Http answer = http("POST", "/v1/functions/counts_calls/invocations", "");
  REQUIRE(answer.status == 200);
  // It keeps a count, and so has its best code from the start.
  CHECK(contains(answer.headers, ";desc=o3"));
  const auto described = Json::parse(orchid({"describe", "counts_calls", "--json"}).out);
  CHECK(described.at("calls").at("tier") == "o3");
  CHECK(contains(orchid({"describe", "counts_calls"}).out, "the best code (o3)"));
  // One that keeps nothing shows the tier of its last call, whichever that was; without a call,
  // none.
  deploy("sleeps");
  CHECK(Json::parse(orchid({"describe", "sleeps", "--json"}).out).at("calls").at("tier").is_null());
  const Http first = http("POST", "/v1/functions/sleeps/invocations", "1");
  REQUIRE(first.status == 200);
  const std::string tier = contains(first.headers, ";desc=quick") ? "quick" : "o3";
  CHECK(Json::parse(orchid({"describe", "sleeps", "--json"}).out).at("calls").at("tier") == tier);
}

TEST_CASE_FIXTURE(SystemFixture, "a thousand calls through the gateway start no process") {
  deploy("counts_calls");
  auto sdk = client();
  sdk.invoke("counts_calls", "");
  const auto births = [&] {
    return Json::parse(sdk.get("/v1/hosts"))
        .at("hosts")
        .at(0)
        .at("executors")
        .at(0)
        .at("counters")
        .value("births", 0);
  };
  const int before = births();
  for (int i = 0; i < 1000; ++i) sdk.invoke("counts_calls", "");
  CHECK(births() <=
        before + 1);  // the spare in place of the first call's worker may be told of late
}

TEST_CASE_FIXTURE(SystemFixture,
                  "a function that crashes at once is no storm of forks, and describe shows it") {
  deploy("segfaults");
  deploy("counts_calls");
  Client client = this->client();
  constexpr int calls = 40;  // more than the executor replaces workers for at once
  for (int i = 0; i < calls; ++i) CHECK_THROWS_AS(client.invoke("segfaults", ""), Error);
  const auto described = Json::parse(orchid({"describe", "segfaults", "--json"}).out);
  CHECK(described.at("calls").at("total") == calls);
  CHECK(described.at("calls").at("ended").at("function_crashed") == calls);
  // Those of another host may end so slowly, on a busy machine, that they are no storm.
  if (!are_workers_elsewhere()) CHECK(described.at("calls").at("replacement_delay_ms") > 0);
  CHECK(
      contains(orchid({"describe", "segfaults"}).out, std::to_string(calls) + " function_crashed"));
  check_next_call();
  const auto other = Json::parse(orchid({"describe", "counts_calls", "--json"}).out);
  CHECK(other.at("calls").at("ended").at("ok") == 1);
}

TEST_CASE("a call that runs when Orchid is stopped still gets its answer") {
  auto system = std::make_unique<SystemFixture>();
  system->deploy("sleeps");
  CHECK(system->orchid({"invoke", "sleeps"}, "1").status == 0);
  auto running = std::async(std::launch::async, [words = system->environment()] {
    return run(
        {.words = {PROGRAMS "/orchid", "invoke", "sleeps"}, .environment = words, .input = "1500"});
  });
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!contains(system->client().get("/v1/invocations"), "running") &&
         std::chrono::steady_clock::now() < give_up) {
  }
  system.reset();  // SIGTERM, as Ctrl-C is
  const auto result = running.get();
  CHECK(result.status == 0);
  CHECK(result.out == "1500");
}

}  // namespace orchid::tests
