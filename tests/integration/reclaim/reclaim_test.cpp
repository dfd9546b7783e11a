// What is left of a grant that is taken back: no process, and no call without its result.
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "foundation/files.h"
#include "harness/machine.h"
#include "site.h"

namespace orchid::tests {
namespace {

using bench::ChildProcess;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds patience{20'000};

/// Is told to end; how long that took. Nothing that it started is left then.
milliseconds reclaim(ChildProcess& executor) {
  std::vector<pid_t> family = bench::process_tree(executor.pid());
  CHECK(family.size() >= 5);  // itself, the zygote, two compilers, a worker
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(::kill(executor.pid(), SIGTERM) == 0);
  const auto status = executor.wait(patience);
  const auto took = std::chrono::steady_clock::now() - start;
  REQUIRE(status.has_value());
  CHECK(*status == 0);
  for (const pid_t pid : family) CHECK(eventually([pid] { return ::kill(pid, 0) != 0; }));
  return std::chrono::duration_cast<milliseconds>(took);
}

std::future<CommandResult> invoke(const Site& site, std::vector<std::string> words,
                                  std::string input) {
  words.insert(words.begin(), "invoke");
  return std::async(std::launch::async,
                    [&site, words = std::move(words), input = std::move(input)] {
                      return site.orchid(words, input);
                    });
}

std::vector<std::byte> module_bytes(const std::string& name) {
  auto bytes = read_file(std::filesystem::path(FUNCTIONS) / (name + ".bc"), 64_MiB);
  REQUIRE(bytes.has_value());
  return std::move(*bytes);
}

/// The first of the cores that this process may use.
unsigned some_core(unsigned number) {
  cpu_set_t mask;
  REQUIRE(::sched_getaffinity(0, sizeof(mask), &mask) == 0);
  for (unsigned core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mask) && number-- == 0) return core;
  FAIL("this test needs two cores");
  return 0;
}

}  // namespace

TEST_CASE("a call whose executor is reclaimed runs again on another, and its caller sees nothing") {
  Site site;
  site.deploy("sleeps");
  ChildProcess pilot = site.start_pilot(some_core(0));
  auto call = invoke(site, {"sleeps"}, "1500");
  REQUIRE(site.runs("sleeps"));
  ChildProcess other = site.start_pilot(some_core(1));
  const auto took = reclaim(pilot);
  MESSAGE("reclaimed within ", took.count(), " ms");
  CHECK(took < seconds(3));
  const CommandResult result = call.get();
  CHECK(result.status == 0);
  CHECK(result.out == "1500");
}

TEST_CASE("a signal that comes to all processes of a job does a call no harm") {
  Site site;
  site.deploy("sleeps");
  ChildProcess pilot = site.start_pilot(some_core(0));
  auto call = invoke(site, {"sleeps"}, "1500");
  REQUIRE(site.runs("sleeps"));
  ChildProcess other = site.start_pilot(some_core(1));
  std::vector<pid_t> family = bench::process_tree(pilot.pid());
  for (auto pid = family.rbegin(); pid != family.rend(); ++pid) ::kill(*pid, SIGTERM);
  CHECK(pilot.wait(patience).value_or(-1) == 0);
  const CommandResult result = call.get();
  CHECK(result.status == 0);
  CHECK(result.out == "1500");
}

TEST_CASE("an executor of one's own ends as it always did, and its call runs elsewhere") {
  Site site;
  site.deploy("sleeps");
  ChildProcess local = site.start_executor({"--core-list", std::to_string(some_core(0))});
  auto call = invoke(site, {"sleeps"}, "1000");
  REQUIRE(site.runs("sleeps"));
  ChildProcess other = site.start_pilot(some_core(1));
  REQUIRE(::kill(local.pid(), SIGTERM) == 0);
  CHECK(local.wait(patience).value_or(-1) == 0);
  CHECK(call.get().status == 0);
}

TEST_CASE("evictions do not use up a call's retries") {
  Site site;
  site.deploy("sleeps");
  std::optional<ChildProcess> pilot = site.start_pilot(some_core(0));
  auto call = invoke(site, {"sleeps"}, "1200");
  for (unsigned round = 1; round <= 5; ++round) {
    REQUIRE(site.runs("sleeps"));
    ChildProcess next = site.start_pilot(some_core(round % 2));
    (void)reclaim(*pilot);
    pilot = std::move(next);
  }
  const CommandResult result = call.get();
  CHECK(result.status == 0);
  CHECK(result.out == "1200");
}

TEST_CASE("calls over a lease go on with the workers that are left") {
  Site site;
  ChildProcess pilot = site.start_pilot(some_core(0), "n1");
  ChildProcess other = site.start_pilot(some_core(1), "n2");
  Client client = site.client();
  Lease lease = client.lease({.workers = 2});
  const LeasedFunction sleeps = lease.module(module_bytes("sleeps")).function();
  std::vector<ReplyFuture> calls;
  for (int i = 0; i < 6; ++i) calls.push_back(sleeps.async("300"));
  CHECK_FALSE(calls.front().wait_for(milliseconds(50)));
  (void)reclaim(pilot);
  for (const ReplyFuture& call : calls) CHECK(call.get().text() == "300");
}

namespace {

/// Pilots come and go, each with the core of the last but one, while a thread calls without a
/// pause. Each call has its own result.
template <typename Call>
void check_rounds(Site& site, ChildProcess& pilot, const std::string& lane, const Call& call) {
  std::atomic<bool> over{false};
  auto calls = std::async(std::launch::async, [&] {
    unsigned done = 0;
    for (; !over.load(); ++done) {
      const std::string input = std::to_string(done % 20) + " call " + std::to_string(done);
      if (call(input) != input) throw std::runtime_error("another call's result");
    }
    return done;
  });
  for (unsigned round = 1; round <= 10; ++round) {
    const unsigned which = round % 2;
    ChildProcess next =
        site.start_pilot(some_core(which), lane == "ucx" ? "n" + std::to_string(which) : "");
    CHECK(reclaim(pilot) < seconds(3));
    pilot = std::move(next);
  }
  over = true;
  const unsigned done = calls.get();
  MESSAGE(done, " calls, lane ", lane);
  CHECK(done > 0);
}

void check_streams(const std::string& lane) {
  Site site;
  site.deploy("sleeps");
  ChildProcess pilot = site.start_pilot(some_core(0), lane == "ucx" ? "n0" : "");
  Client client = site.client();
  check_rounds(site, pilot, lane, [&](const std::string& input) {
    return std::string(client.invoke("sleeps", input).text());
  });
  Lease lease = client.lease({.workers = 1, .lane = lane});
  const LeasedFunction leased = lease.module(module_bytes("sleeps")).function();
  check_rounds(site, pilot, lane,
               [&](const std::string& input) { return std::string(leased.invoke(input).text()); });
}

}  // namespace

TEST_CASE("pilots come and go under a stream of calls, and each call has its result") {
  check_streams("local");
}

TEST_CASE("pilots of other hosts come and go under a stream of calls, too") {
  check_streams("ucx");
}

TEST_CASE("a call over the gateway that may run only once ends with status 503, evicted") {
  Site site;
  site.deploy("sleeps");
  std::string answer;
  // One that has not begun by then waits for another executor, which does not come.
  for (int attempt = 0; attempt < 10; ++attempt) {
    ChildProcess pilot = site.start_pilot(some_core(0));
    CHECK(site.orchid({"invoke", "sleeps"}, "1").status == 0);  // so that the next one begins soon
    auto call = std::async(std::launch::async, [&] {
      return run({.words = {"curl", "--silent", "--include", "--unix-socket", site.socket(),
                            "--header", "Orchid-At-Most-Once: true", "--data", "20000",
                            "http://localhost/v1/functions/sleeps/invocations"}});
    });
    REQUIRE(site.runs("sleeps"));
    (void)reclaim(pilot);
    answer = call.get().out;
    if (answer.find("Orchid-Outcome: no_capacity") == std::string::npos) break;
  }
  CAPTURE(answer);
  CHECK(answer.find("HTTP/1.1 503") != std::string::npos);
  CHECK(answer.find("Orchid-Outcome: evicted") != std::string::npos);
  CHECK(answer.find("took them back") != std::string::npos);
  CHECK(answer.find("\"retryable\":true") != std::string::npos);
}

TEST_CASE("a call that may run only once ends as evicted") {
  Site site;
  ChildProcess pilot = site.start_pilot(some_core(0));
  Client client = site.client();
  Lease lease = client.lease({.workers = 1});
  const LeasedFunction sleeps = lease.module(module_bytes("sleeps")).function();
  CHECK(sleeps.invoke("1").text() == "1");
  const ReplyFuture call = sleeps.async("10000", {.at_most_once = true});
  CHECK_FALSE(call.wait_for(milliseconds(300)));
  (void)reclaim(pilot);
  try {
    (void)call.get();
    FAIL("it has a result");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::evicted);
    CHECK(error.attempt() == 1);
    CHECK(error.retryable());
    CHECK(error.message().find("took them back") != std::string::npos);
  }
}

TEST_CASE("a call that has to end at once anyway may end") {
  Site site;
  bool ran = false;
  for (int attempt = 0; attempt < 10 && !ran; ++attempt) {
    ChildProcess pilot = site.start_pilot(some_core(0));
    Client client = site.client();
    Lease lease = client.lease({.workers = 1});
    const LeasedFunction sleeps = lease.module(module_bytes("sleeps")).function();
    CHECK(sleeps.invoke("1").text() == "1");
    const ReplyFuture call =
        sleeps.async("35", {.deadline = milliseconds(49), .at_most_once = true});
    (void)call.wait_for(milliseconds(8));
    CHECK(reclaim(pilot) < seconds(3));
    try {
      CHECK(call.get().text() == "35");
      ran = true;
    } catch (const Error& error) {
      // On a busy machine it may not have begun, or its deadline may have passed; but it is never
      // evicted.
      CHECK(error.kind() != ErrorKind::evicted);
    }
  }
  CHECK(ran);
}

TEST_CASE("near its end a grant takes nothing new, and at its end the executor is gone") {
  Site site;
  site.deploy("sleeps");
  ChildProcess pilot =
      site.start_executor({"--grant", "pilot", "--scheduling", "normal", "--core-list",
                           std::to_string(some_core(0)), "--ends-in-s", "4"});
  REQUIRE(eventually([&] { return site.log().find("event=draining") != std::string::npos; }));
  auto call = invoke(site, {"sleeps"}, "1");
  CHECK(pilot.wait(patience).value_or(-1) == 0);
  CHECK(site.log().find("its time is over") != std::string::npos);
  ChildProcess other = site.start_pilot(some_core(1));
  CHECK(call.get().status == 0);
}

TEST_CASE("without a gateway a pilot's executor ends when the grace is over") {
  Site site;
  ChildProcess pilot =
      site.start_executor({"--grant", "pilot", "--scheduling", "normal", "--core-list",
                           std::to_string(some_core(0)), "--gateway-grace-s", "3"});
  site.kill_gateway();
  CHECK(pilot.wait(patience).value_or(-1) == 0);
  CHECK(site.log().find("no gateway has answered for 3 s") != std::string::npos);
}

TEST_CASE("an executor lives inside the cores that it offers") {
  Site site;
  const unsigned core = some_core(1);
  ChildProcess pilot = site.start_pilot(core);
  REQUIRE(eventually([&] { return bench::process_tree(pilot.pid()).size() >= 6; }));
  for (const pid_t pid : bench::process_tree(pilot.pid())) {
    cpu_set_t mask;
    if (::sched_getaffinity(pid, sizeof(mask), &mask) != 0) continue;  // a fork that has ended
    CHECK(CPU_COUNT(&mask) == 1);
    CHECK(CPU_ISSET(core, &mask));
  }
  const auto hosts = nlohmann::json::parse(site.client().get("/v1/hosts")).at("hosts");
  REQUIRE(hosts.size() == 1);

  // A batch system that counts this whole machine as one processor means all of it.
  cpu_set_t all;
  REQUIRE(::sched_getaffinity(0, sizeof(all), &all) == 0);
  const std::size_t machine = std::thread::hardware_concurrency();
  if (static_cast<std::size_t>(CPU_COUNT(&all)) == machine) {
    (void)reclaim(pilot);
    pilot = site.start_executor({"--grant", "pilot", "--scheduling", "normal", "--core-list", "0",
                                 "--core-list-counts", "1"});
    CHECK(eventually([&] {
      const auto counted = nlohmann::json::parse(site.client().get("/v1/hosts")).at("hosts");
      return counted.size() == 1 && counted[0].at("cores") == machine;
    }));
  }

  ChildProcess nothing = site.launch({"--grant", "pilot", "--core-list", "60000-60001"});
  CHECK(nothing.wait(patience).value_or(-1) == 3);
  CHECK(site.log().find("affinity mask and cgroup allow") != std::string::npos);
}

}  // namespace orchid::tests
