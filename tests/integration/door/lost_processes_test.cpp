// Processes that are killed while clients are at the door.
#include <signal.h>
#include <unistd.h>

#include <future>

#include "door_fixture.h"
#include "harness/child_process.h"

namespace orchid::tests {
namespace {

using std::chrono::seconds;

bool works_again(Client& client) {
  return eventually([&] {
    try {
      return client.invoke("echo", "again", {.deadline = seconds(5)}).text() == "again";
    } catch (const Error&) {
      return false;
    }
  });
}

}  // namespace

TEST_CASE_FIXTURE(DoorFixture, "the door and the gateway are killed, and clients come in again") {
  Client client = this->client();
  client.deploy("echo", echo_module());
  CHECK(client.invoke("echo", "first").text() == "first");
  for (const char* name : {"orchid-door", "orchid-gateway"}) {
    CAPTURE(std::string(name));
    const auto guests_before = guests();
    REQUIRE_FALSE(guests_before.empty());
    const auto victims = named(name);
    REQUIRE(victims.size() == 1);
    ::kill(victims.front(), SIGKILL);
    // Nobody of the old ones is left.
    for (const pid_t guest : guests_before)
      CHECK(eventually([&] { return ::kill(guest, 0) != 0; }));
    CHECK(works_again(client));
  }
}

TEST_CASE_FIXTURE(DoorFixture, "a door that is stopped is replaced, and new clients come in") {
  Client client = this->client();
  client.deploy("echo", echo_module());
  for (int round = 0; round < 2; ++round) {
    const auto victims = named("orchid-door");
    REQUIRE(victims.size() == 1);
    const auto stopped_at = std::chrono::steady_clock::now();
    ::kill(victims.front(), SIGSTOP);
    CHECK(eventually([&] { return ::kill(victims.front(), 0) != 0; }));
    Client another = this->client();
    CHECK(works_again(another));
    CHECK(std::chrono::steady_clock::now() - stopped_at < seconds(6));
    CHECK(works_again(client));
  }
}

TEST_CASE_FIXTURE(DoorFixture, "a call that is lost half-way says so, and is not sent again") {
  Client client = this->client();
  client.deploy("sleeps", module("sleeps"));
  auto running = std::async(
      std::launch::async, [&] { return error_of([&] { (void)client.invoke("sleeps", "2000"); }); });
  REQUIRE(eventually([&] {
    return Client({.gateway = system().address(), .token = system().token()})
               .get("/v1/invocations")
               .find("running") != std::string::npos;
  }));
  const auto found = guests();
  REQUIRE(found.size() == 1);
  ::kill(found.front(), SIGKILL);
  const Error lost = running.get();
  CHECK(lost.kind() == ErrorKind::unreachable);
  CHECK_FALSE(lost.retryable());
  CHECK(lost.message().find("may have done") != std::string::npos);
  // One that may be sent twice comes through all the same.
  (void)client.functions();
  const auto next = guests();
  REQUIRE(next.size() == 1);
  ::kill(next.front(), SIGKILL);
  CHECK(client.functions().size() == 1);
}

TEST_CASE_FIXTURE(DoorFixture, "a connection that has ended costs no call") {
  Client client = this->client();
  client.deploy("echo", echo_module());
  for (int round = 0; round < 3; ++round) {
    const auto found = guests();
    REQUIRE(found.size() == 1);
    ::kill(found.front(), SIGKILL);
    REQUIRE(eventually([&] { return ::kill(found.front(), 0) != 0; }));
    CHECK(client.invoke("echo", "again").text() == "again");
  }
}

TEST_CASE_FIXTURE(DoorFixture, "a client that is killed leaves nothing behind") {
  Client client = this->client();
  client.deploy("sleeps", module("sleeps"));
  const std::size_t before = guests().size();
  const std::string input = (system().runtime() / "input").string();
  std::ofstream(input) << "60000";
  auto other = bench::ChildProcess::start(
      {.command = {PROGRAMS "/orchid", "invoke", "sleeps", "--in", input},
       .environment = environment(),
       .output_file = "/dev/null"});
  REQUIRE(other.has_value());
  REQUIRE(eventually([&] { return guests().size() == before + 1; }));
  REQUIRE(eventually(
      [&] { return client.get("/v1/invocations").find("running") != std::string::npos; }));
  ::kill(other->pid(), SIGKILL);
  CHECK(eventually([&] { return guests().size() <= before; }));
  // Its call is given up as over HTTP.
  CHECK(eventually(
      [&] { return client.get("/v1/invocations").find("running") == std::string::npos; }));
}

}  // namespace orchid::tests
