// One Orchid on several hosts: a gateway, and two executors that it only reaches over the network.
#include <doctest/doctest.h>
#include <signal.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "clear_error.h"
#include "memory_calls.h"
#include "site.h"

namespace orchid::tests {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("HTTP calls run on workers of other hosts, and end as they would here") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  for (const char* name : {"output_big", "logs_and_crashes", "loops", "reports_pid"})
    client.deploy(name, module_bytes(name));
  const std::vector<std::byte> echo = module_bytes_of(EXAMPLES "/echo.bc");
  client.deploy("echo", echo);
  CHECK(client.invoke("echo", "over there").text() == "over there");
  const std::vector<std::byte> large(20 << 20, std::byte{42});
  CHECK(client.invoke("echo", large).output == large);
  const auto error_of = [&](const std::string& function, milliseconds deadline) {
    try {
      (void)client.invoke(function, "", {.deadline = deadline});
    } catch (const Error& error) {
      return error;
    }
    return Error({.message = "no error"});
  };
  const Error crashed = error_of("logs_and_crashes", seconds(20));
  CHECK(crashed.kind() == ErrorKind::function_crashed);
  CHECK(crashed.node().starts_with("host"));
  CHECK_FALSE(client.invocation(crashed.invocation()).log().text.empty());
  CHECK(error_of("loops", milliseconds(300)).kind() == ErrorKind::deadline_exceeded);
  CHECK(client.invoke("echo", "again").text() == "again");
  for (const pid_t dispatch : site.processes("orchid-dispatch")) {
    const auto calls = memory_calls_of(dispatch);
    REQUIRE(calls.has_value());
    CHECK(calls->has_ucx);
    CHECK(calls->changed.empty());
  }
  // What stands in between is replaced when it dies.
  for (const pid_t dispatch : site.processes("orchid-dispatch")) ::kill(dispatch, SIGKILL);
  CHECK(eventually(
      [&] {
        try {
          return client.invoke("echo", "and again", {.deadline = seconds(5)}).text() == "and again";
        } catch (const Error&) {
          return false;
        }
      },
      seconds(30)));
}

TEST_CASE("on other hosts, too, no process runs code of two modules, and each keeps its state") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  for (const char* name : {"reports_pid", "reports_pid_again"})
    client.deploy(name, module_bytes(name));
  std::set<std::string> first;
  std::set<std::string> second;
  for (int i = 0; i < 20; ++i) {
    first.insert(std::string(client.invoke("reports_pid", "").text()));
    second.insert(std::string(client.invoke("reports_pid_again", "").text()));
  }
  CHECK(first.size() < 10);  // some hosts' cores, each with a worker that stays
  CHECK(second.size() < 10);
  for (const std::string& pid : first) CHECK_FALSE(second.contains(pid));
}

TEST_CASE("how far a call on another host is, its invocation says while it runs") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  client.deploy("says_progress", module_bytes("says_progress"));
  const Invocation running = client.submit("says_progress", {}, {.deadline = seconds(60)});
  CHECK(eventually([&] { return running.status().progress == 0.5; }, seconds(30)));
  running.cancel();
  const InvocationStatus ended = running.wait(seconds(30));
  CHECK(ended.node.starts_with("host"));
  CHECK_FALSE(ended.progress.has_value());
}

TEST_CASE("a program on another host comes in through the door") {
  if (!hosts) return;
  Site site({.gateway_flags = {"--door-listen", std::string(HostNamespaces::here) + ":0"}});
  const auto deployed = site.through_the_door(1, {"deploy", EXAMPLES "/echo.bc"});
  CHECK_MESSAGE(deployed.status == 0, deployed.err);
  CHECK(site.through_the_door(1, {"invoke", "echo"}, "from afar").out == "from afar");
  const std::string large(20 << 20, 'x');
  CHECK(site.through_the_door(0, {"invoke", "echo"}, large).out == large);
  // A host that vanishes in the middle of a connection is noticed, and its process at the door
  // ends.
  site.client().deploy("sleeps", module_bytes("sleeps"));
  std::thread cut_off([&] { (void)site.through_the_door(1, {"invoke", "sleeps"}, "60000"); });
  CHECK(eventually([&] { return site.processes("orchid-door").size() == 2; }, seconds(20)));
  CHECK(HostNamespaces::unplug(1).has_value());
  CHECK(eventually([&] { return site.processes("orchid-door").size() == 1; }, seconds(20)));
  cut_off.join();
  CHECK(hosts->plug_in(1).has_value());
}

TEST_CASE("calls go on when a host is lost, and its worker is replaced") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  Lease lease = client.lease({.workers = 2, .duration = seconds(20)});
  REQUIRE(lease.workers() == 2);
  CHECK(lease.capacity().nodes.size() == 2);
  const LeasedFunction pid = lease.module(module_bytes("reports_pid")).function();
  const LeasedFunction sleeps = lease.module(module_bytes("sleeps")).function();
  CHECK_FALSE(pid.invoke("").text().empty());
  // Calls on both at once, before, while and after one of them goes.
  const ReplyFuture first = sleeps.async("300");
  const ReplyFuture second = sleeps.async("300");
  CHECK(first.get().text() == "300");
  CHECK(second.get().text() == "300");
  const auto round = [&] {
    std::vector<ReplyFuture> running;
    for (int i = 0; i < 4; ++i) running.push_back(sleeps.async("20"));
    for (const ReplyFuture& call : running) CHECK(call.get().text() == "20");
  };
  round();
  const ReplyFuture long_one = sleeps.async("1000");
  const ReplyFuture long_two = sleeps.async("1000");
  const Unplugged lost(0);
  const auto start = std::chrono::steady_clock::now();
  CHECK(long_one.get().text() == "1000");
  CHECK(long_two.get().text() == "1000");
  // Noticed by silence alone, within seconds.
  CHECK(std::chrono::steady_clock::now() - start < seconds(15));
  CHECK(eventually([&] { return lease.workers() == 1; }, seconds(15)));
  round();
  // The program tells the gateway, which gives another worker.
  CHECK(eventually(
      [&] {
        round();
        return lease.workers() == 2;
      },
      seconds(30)));
  CHECK(lease.capacity().nodes == std::vector<std::string>{HostNamespaces::name(1)});
  round();
}

/// Six times as long as the lease would last by itself; ORCHID_OUTAGE_S for a longer one by hand.
static seconds outage() {
  const char* wanted = std::getenv("ORCHID_OUTAGE_S");
  return seconds(wanted == nullptr ? 6 : std::atoi(wanted));
}

TEST_CASE("direct calls go on without any gateway, and the lease with the next one") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  Lease lease = client.lease({.workers = 2, .duration = seconds(1)});
  REQUIRE(lease.workers() == 2);
  const LeasedFunction pid = lease.module(module_bytes("reports_pid")).function();
  std::set<std::string> workers;
  const auto call_for = [&](seconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      const ReplyFuture one = pid.async("");
      const ReplyFuture other = pid.async("");
      workers.insert(std::string(one.get().text()));
      workers.insert(std::string(other.get().text()));
    }
  };
  call_for(seconds(1));
  CHECK(workers.size() == 2);
  site.stop_gateway();
  call_for(outage());
  CHECK(workers.size() == 2);
  check_clear(error_of([&] { (void)lease.function("reports_pid"); }), ErrorKind::unreachable);
  check_clear(error_of([&] { (void)client.lease({.workers = 1}); }), ErrorKind::unreachable);
  site.start_gateway();
  CHECK(eventually(
      [&] {
        try {
          const auto held = nlohmann::json::parse(client.get("/v1/leases/" + lease.id()));
          return held.at("state") == "open" && held.at("workers").size() == 2;
        } catch (const Error&) {
          return false;
        }
      },
      seconds(30)));
  call_for(seconds(3));  // and it is renewed
  CHECK(workers.size() == 2);
}

}  // namespace orchid::tests
