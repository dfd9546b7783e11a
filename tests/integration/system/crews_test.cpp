// A crew of a whole Orchid: the gateway grants it, and is not needed for its calls.
#include <signal.h>

#include <cstring>
#include <span>
#include <vector>

#include "clear_error.h"
#include "system_fixture.h"

namespace orchid::tests {
namespace {

/// As tests/data/functions/walks_crew.c has it.
struct Walk {
  std::uint32_t left = 0;
  std::uint32_t stride = 1;
  std::uint64_t sum = 0;
};

std::uint64_t sum_of(const CrewFunction& walk, std::uint32_t left) {
  const Walk start{.left = left};
  const Reply reply = walk.invoke(1, std::as_bytes(std::span(&start, 1)));
  Walk end;
  REQUIRE(reply.output.size() == sizeof(end));
  std::memcpy(&end, reply.output.data(), sizeof(end));
  return end.sum;
}

}  // namespace

TEST_CASE_FIXTURE(SystemFixture, "a program takes a crew, sees it among its leases, and calls it") {
  deploy("walks_crew");
  Client user = client();
  const CrewOptions two{.workers = 2, .within = std::chrono::seconds(20)};
  if (are_workers_elsewhere()) {
    // Its workers are on another host.
    check_clear(error_of([&] { (void)user.crew(two); }), ErrorKind::no_capacity);
    return;
  }
  Crew crew = user.crew(two);
  const CrewFunction walk = crew.function("walks_crew.walk");
  CHECK(sum_of(walk, 1000) == 500 * 3 + 1);
  const Json lease = Json::parse(user.get("/v1/leases/" + crew.id()));
  CHECK(lease.at("crew") == true);
  CHECK(lease.at("workers").size() == 2);
  CHECK(contains(orchid({"leases"}).out, "2 of 2, a crew"));
  REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(1)), SIGKILL) == 0);
  CHECK(sum_of(walk, 10'000) == 5000 * 3 + 1);
  crew.release();
  CHECK(Json::parse(user.get("/v1/leases")).at("leases").empty());
}

TEST_CASE_FIXTURE(SystemFixture, "a call goes on in a deployed function that nobody has loaded") {
  deploy("brings_code");
  deploy("walks_crew");
  Client user = client();
  const std::string digest = user.describe("walks_crew").version;
  const std::string module = user.get("/v1/functions/walks_crew/module");
  CHECK(user.get("/v1/functions/" + digest + "/module") == module);
  CHECK(user.get("/v1/functions/" + digest.substr(0, 23) + "/module") == module);
  for (const std::string& name : {std::string("sha256:") + std::string(64, '0'), digest + "0"})
    check_clear(error_of([&] { (void)user.get("/v1/functions/" + name + "/module"); }),
                ErrorKind::not_found);
  check_clear(error_of([&] { (void)user.get("/v1/functions/sha256:0123/module"); }),
              ErrorKind::bad_request);
  if (are_workers_elsewhere()) return;
  const Walk start{.left = 1000};
  for (const std::string& name : {std::string("walks_crew.walk"), digest + ".walk",
                                  "walks_crew.walk@" + digest.substr(digest.find(':') + 1)}) {
    CAPTURE(name);
    Crew crew = user.crew({.workers = 2, .within = std::chrono::seconds(20)});
    const CrewFunction call = crew.function("brings_code.by_forward");
    std::string input("\1\0\0\0", 4);
    input += name + '\0';
    input.append(reinterpret_cast<const char*>(&start), sizeof(start));
    const Reply reply = call.invoke(2, input);
    Walk end;
    REQUIRE(reply.output.size() == sizeof(end));
    std::memcpy(&end, reply.output.data(), sizeof(end));
    CHECK(end.sum == 500 * 3 + 1);
    const std::string nobody("\1\0\0\0nonesuch.walk\0", 18);
    const Error error = error_of([&] { (void)call.invoke(2, nobody); });
    check_clear(error, ErrorKind::function_error);
    CHECK(contains(error.message(), "there is no function 'nonesuch'"));
  }
}

TEST_CASE_FIXTURE(SystemFixture, "a traced call of a crew is shown with its path and its log") {
  if (are_workers_elsewhere()) return;
  deploy("walks_crew");
  Client user = client();
  Crew crew = user.crew({.workers = 2, .within = std::chrono::seconds(20)});
  const Walk start{.left = 2};
  const auto input = std::as_bytes(std::span(&start, 1));
  const Reply reply = crew.function("walks_crew.walk").invoke(2, input, {.trace = true});
  CHECK(reply.path.size() == 3);
  CHECK_THROWS_AS((void)crew.function("walks_crew.complain").invoke(1, input, {.trace = true}),
                  Error);
  const std::string lease = crew.id();
  crew.release();  // what was traced is told before that, and kept for a while
  const std::string explained = orchid({"explain", lease}).out;
  CHECK(contains(explained, "walks_crew.walk at member 2"));
  CHECK(contains(explained, "path: 2 walk "));
  CHECK(contains(explained, " > 1 walk "));
  const std::string logged = orchid({"logs", lease}).out;
  CHECK(contains(logged, "walks_crew.complain at member 1"));
  CHECK(contains(logged, "[member 1: complain, "));
  CHECK(contains(logged, "at 2\n"));
}

TEST_CASE_FIXTURE(SystemFixture,
                  "a crew that may be smaller has as many members as there is room") {
  if (are_workers_elsewhere()) return;
  deploy("walks_crew");
  Client user = client();
  Crew crew = user.crew({.workers = 64, .at_least = 2, .within = std::chrono::seconds(20)});
  CHECK(crew.members() >= 2);
  const Json lease = Json::parse(user.get("/v1/leases/" + crew.id()));
  CHECK(lease.at("workers").size() == crew.members());
  CHECK(lease.at("workers_wanted") == crew.members());
  CHECK(sum_of(crew.function("walks_crew.walk"), 100) > 0);
  check_clear(error_of([&] { (void)user.crew({.workers = 4, .at_least = 1}); }),
              ErrorKind::bad_request);
  check_clear(error_of([&] { (void)user.crew({.workers = 4, .at_least = 5}); }),
              ErrorKind::bad_request);
}

TEST_CASE_FIXTURE(SystemFixture, "a module with effects says so, and its calls are at most once") {
  deploy("has_effects");
  Client user = client();
  CHECK(user.describe("has_effects").effects == std::vector<std::string>{"mail"});
  CHECK(contains(orchid({"describe", "has_effects"}).out, "mail"));
  const Invocation call = user.submit("has_effects.send_mail", {});
  (void)call.output(std::chrono::seconds(20));
  CHECK(Json::parse(user.get("/v1/invocations/" + call.id())).at("at_most_once") == true);
  if (are_workers_elsewhere()) return;
  Crew crew = user.crew({.workers = 2, .within = std::chrono::seconds(20)});
  const CrewFunction send = crew.function("has_effects.send_mail");
  check_clear(error_of([&] { (void)send.invoke(1, ""); }), ErrorKind::bad_request);
  CHECK_NOTHROW((void)send.invoke(1, "", {.at_most_once = true}));
}

TEST_CASE_FIXTURE(SystemFixture,
                  "a function that goes on outside of a crew is told what it needs") {
  deploy("walks_crew");
  const Walk start{.left = 1};
  const Error error = error_of(
      [&] { (void)client().invoke("walks_crew.walk", std::as_bytes(std::span(&start, 1))); });
  check_clear(error, ErrorKind::function_error);
  CHECK(contains(error.message(), "this worker is in no crew"));
}

}  // namespace orchid::tests
