// Processes that are killed or stopped under a running system: calls get their outcome, the system
// heals by itself.
#include <signal.h>

#include <future>

#include "clear_error.h"
#include "harness/machine.h"
#include "system_fixture.h"

namespace orchid::tests {
namespace {

/// Whose loss a call may not suffer from for long.
std::vector<std::string> vital_programs() {
  std::vector<std::string> programs{"orchid-worker", "orchid-zygote", "orchid-compiler",
                                    "orchid-executor", "orchid-gateway"};
  if (are_workers_elsewhere()) programs.emplace_back("orchid-dispatch");
  return programs;
}

/// Calls until one works; false after 20 s.
bool works_again(SystemFixture& system) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < give_up)
    if (system.orchid({"invoke", "counts_calls", "--deadline", "5s"}).status == 0) return true;
  return false;
}

/// Until a call of that function runs; false after 10 s.
bool wait_until_running(SystemFixture& system, const std::string& function) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < give_up) {
    const auto list = Json::parse(system.client().get("/v1/invocations"));
    for (const auto& invocation : list.at("invocations"))
      if (invocation.at("function") == function && invocation.at("state") == "running") return true;
  }
  return false;
}

}  // namespace

TEST_CASE_FIXTURE(SystemFixture, "whichever process is killed or stopped, calls work again") {
  deploy("counts_calls");
  check_next_call();
  for (const std::string& name : vital_programs()) {
    for (const int signal : {SIGKILL, SIGSTOP}) {
      CAPTURE(name);
      CAPTURE(signal);
      const auto victims = wait_for(system(), name.substr(0, 15));
      REQUIRE_FALSE(victims.empty());
      for (const pid_t victim : victims) ::kill(victim, signal);
      CHECK(works_again(*this));
    }
  }
}

TEST_CASE_FIXTURE(SystemFixture, "an executor that is killed leaves no process") {
  deploy("sleeps");
  auto running = std::async(std::launch::async, [&] {
    return orchid({"invoke", "sleeps", "--deadline", "5s"}, "20000").status;
  });
  REQUIRE(wait_until_running(*this, "sleeps"));
  const auto executors = wait_for(system(), "orchid-executor");
  REQUIRE(executors.size() == 1);
  std::vector<pid_t> children = bench::process_tree(executors.front());
  std::erase(children, executors.front());
  CHECK(children.size() >= 5);  // the zygote, two compilers, a busy worker and a spare one
  ::kill(executors.front(), SIGKILL);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (const pid_t child : children) {
    CAPTURE(child);
    while (is_running(child) && std::chrono::steady_clock::now() < give_up) {
    }
    CHECK_FALSE(is_running(child));
  }
  CHECK(running.get() != 0);
}

TEST_CASE_FIXTURE(
    SystemFixture,
    "a call that runs when a process is killed or stopped ends in time all the same") {
  deploy("counts_calls");
  deploy("sleeps");
  for (const std::string& name : vital_programs()) {
    for (const int signal : {SIGKILL, SIGSTOP}) {
      CAPTURE(name);
      CAPTURE(signal);
      REQUIRE(works_again(*this));
      const auto start = std::chrono::steady_clock::now();
      auto running = std::async(std::launch::async, [&] {
        return orchid({"invoke", "sleeps", "--deadline", "2s"}, "20000").status;
      });
      REQUIRE(wait_until_running(*this, "sleeps"));
      for (const pid_t victim : wait_for(system(), name.substr(0, 15))) ::kill(victim, signal);
      const int status = running.get();
      // 4: its deadline passed; 3: Orchid, or a part of it, was lost; never a success.
      CAPTURE(status);
      CHECK((status == 4 || status == 3));
      // Deadline, second, and the start of the program.
      CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(3500));
    }
  }
}

TEST_CASE_FIXTURE(
    SystemFixture,
    "a call whose worker is stopped has its outcome within its deadline plus one second") {
  deploy("sleeps");
  auto sdk = client();
  sdk.invoke("sleeps", "1");
  const auto start = std::chrono::steady_clock::now();
  const auto submitted = sdk.submit("sleeps", std::as_bytes(std::span("20000", 5)),
                                    {.deadline = std::chrono::seconds(3)});
  for (const pid_t worker : processes_named(system(), "orchid-worker")) ::kill(worker, SIGSTOP);
  const auto status = submitted.wait(std::chrono::seconds(10));
  CHECK(status.state == "done");
  CHECK(status.outcome != "ok");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(4));
}

TEST_CASE_FIXTURE(
    SystemFixture,
    "a function that forges what its worker says has crashed, and not its neighbour") {
  deploy("forges_last_words");
  deploy("sleeps");
  auto neighbour = std::async(std::launch::async, [sdk = client()]() mutable {
    return std::string(sdk.invoke("sleeps", "2000").text());
  });
  REQUIRE(wait_until_running(*this, "sleeps"));
  auto sdk = client();
  for (const char* words : {"0 idle", "3", "3 idle"}) {
    CAPTURE(words);
    const Error error = error_of([&] { (void)sdk.invoke("forges_last_words", words); });
    CHECK(error.kind() == ErrorKind::function_crashed);
    CHECK(error.attempt() == 1);
    CHECK_FALSE(error.retryable());
    CHECK(error.message().find("broke the rules of its sandbox") != std::string::npos);
  }
  CHECK(neighbour.get() == "2000");
}

TEST_CASE_FIXTURE(SystemFixture, "functions and finished calls survive a gateway that is killed") {
  deploy("counts_calls");
  const auto described = [&] {
    auto function = Json::parse(orchid({"describe", "counts_calls", "--json"}).out);
    function.erase("calls");  // counted since the gateway's start
    return function;
  };
  const auto before = described();
  for (const pid_t gateway : processes_named(system(), "orchid-gateway")) ::kill(gateway, SIGKILL);
  REQUIRE(works_again(*this));
  CHECK(described() == before);
}

}  // namespace orchid::tests
