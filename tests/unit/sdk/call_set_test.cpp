// Calls that one thread makes as others end, on a worker that echoes.
#include "lease/call_set.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fake_executor.h"
#include "fake_gateway.h"
#include "foundation/files.h"
#include "orchid/client.h"

namespace orchid::sdk::call_set_tests {
namespace {

using namespace std::chrono_literals;
using tests::FakeAnswer;
using tests::FakeRequest;
using Clock = std::chrono::steady_clock;

/// A lease of one worker of a fake executor, and its function.
struct Site {
  tests::FakeExecutor executor;
  tests::FakeGateway gateway{[this](const FakeRequest& request) { return answer(request); }};
  Client client{{.gateway = gateway.address(), .token = "secret"}};
  orchid::Lease lease = client.lease();
  LeasedFunction echo = lease.function("f");

  FakeAnswer answer(const FakeRequest& request) {
    const std::string worker =
        R"({"lease":"l-1-2","secret":"s","node":"n1","boot_id":"","lane_socket":")" +
        executor.path().string() + R"(","lane_address":""})";
    const std::string document =
        R"({"id":"l-1-1","cores_per_worker":1,"memory_bytes":0,"expires_in_ms":60000,"workers":[)";
    if (request.method == "POST") return {.status = 201, .body = document + worker + "]}"};
    if (request.method == "PATCH") return {.body = document + "]}"};
    if (request.method == "DELETE") return {.status = 204};
    return {.body =
                R"json({"name":"f","version":"sha256:aa","entries":[{"name":"e","signature":null}],
      "targets":[],"size":1})json"};
  }
};

std::string text_of(const CallSet::Ended& ended) {
  return {reinterpret_cast<const char*>(ended.output.data()), ended.output.size()};
}

/// Until so many have ended, within ten seconds.
std::vector<CallSet::Ended> take(CallSet& calls, std::size_t count) {
  std::vector<CallSet::Ended> ended;
  const auto give_up = Clock::now() + 10s;
  while (ended.size() < count && Clock::now() < give_up) calls.take(ended, 100ms);
  REQUIRE(ended.size() == count);
  return ended;
}

void start(CallSet& calls, Site& site, std::uint64_t number, const CallOptions& options = {}) {
  calls.start(number, site.echo, as_bytes(std::to_string(number)), options);
}

}  // namespace

TEST_CASE("each call ends once, with its number and its output") {
  Site site;
  CallSet calls(site.lease);
  constexpr std::uint64_t count = 1000;
  for (std::uint64_t i = 0; i < count; ++i) start(calls, site, i);
  std::set<std::uint64_t> seen;
  for (const CallSet::Ended& ended : take(calls, count)) {
    CHECK(seen.insert(ended.number).second);
    CHECK(ended.error == nullptr);
    CHECK(text_of(ended) == std::to_string(ended.number));
    REQUIRE(ended.host != nullptr);
    CHECK(*ended.host == "n1");
  }
  std::vector<CallSet::Ended> more;
  calls.take(more, 0ns);
  CHECK(more.empty());
}

TEST_CASE("each answer may lead to another call, also after the lanes were left to others") {
  Site site;
  CallSet calls(site.lease);
  start(calls, site, 0);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto ended = take(calls, 1);
    CHECK(ended.front().number == i);
    if (i % 10 == 0) calls.rest();
    start(calls, site, i + 1);
  }
  CHECK(take(calls, 1).front().number == 100);
}

TEST_CASE("a call that is cancelled tells no end, and others go on") {
  Site site;
  CallSet calls(site.lease);
  site.executor.answer_calls(false);
  for (std::uint64_t i = 0; i < 40; ++i) start(calls, site, i, {.deadline = 60s});
  for (std::uint64_t i = 0; i < 39; ++i) calls.cancel(i);
  calls.cancel(7);     // again
  calls.cancel(1000);  // there is none
  site.executor.answer_calls(true);
  calls.cancel(39);
  start(calls, site, 50);
  const auto ended = take(calls, 1);
  CHECK(ended.front().number == 50);
}

TEST_CASE("a call that is late is given up") {
  Site site;
  CallSet calls(site.lease);
  site.executor.answer_calls(false);
  start(calls, site, 1, {.deadline = 50ms});
  const auto ended = take(calls, 1);
  REQUIRE(ended.front().error != nullptr);
  CHECK(ended.front().error->kind == ErrorKind::deadline_exceeded);
}

TEST_CASE("when the lease ends its calls end, and later ones at once") {
  Site site;
  CallSet calls(site.lease);
  site.executor.answer_calls(false);
  start(calls, site, 1);
  start(calls, site, 3);
  calls.cancel(3);  // its end is not told
  CHECK(calls.open() == std::vector<std::uint64_t>{1});
  site.lease.release();
  start(calls, site, 2);
  for (const CallSet::Ended& ended : take(calls, 2)) {
    REQUIRE(ended.error != nullptr);
    CHECK(ended.error->kind == ErrorKind::lease_ended);
  }
  CHECK(calls.open().empty());
}

TEST_CASE("who waits is woken by another thread, and also when that was sooner") {
  Site site;
  CallSet calls(site.lease);
  site.executor.answer_calls(false);
  start(calls, site, 1, {.deadline = 60s});
  std::vector<CallSet::Ended> ended;
  const auto begin = Clock::now();
  calls.wake();
  calls.take(ended, 30s);
  {
    const std::jthread other([&] { calls.wake(); });
    calls.take(ended, 30s);
  }
  CHECK(ended.empty());
  CHECK(Clock::now() - begin < 20s);
}

TEST_CASE("a set may end before its calls") {
  Site site;
  site.executor.answer_calls(false);
  {
    CallSet calls(site.lease);
    for (std::uint64_t i = 0; i < 300; ++i) start(calls, site, i, {.deadline = 60s});
  }
  site.executor.answer_calls(true);
  CHECK(site.echo.invoke("still").text() == "still");
}

}  // namespace orchid::sdk::call_set_tests
