// Calls on workers of a lease that ends, and of the next one.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "fake_executor.h"
#include "fake_gateway.h"
#include "flow/checker.h"
#include "flow_run/flow_calls.h"

namespace orchid::flow::lease_calls_tests {
namespace {

using namespace std::chrono_literals;
using tests::FakeAnswer;
using tests::FakeExecutor;
using tests::FakeGateway;
using tests::FakeRequest;

Plan plan_of_one_call() {
  const Parsed parsed = parse_document(
      "flow: one\nfunctions: {f.e: bytes}\ninputs: {text: bytes}\n"
      "nodes: {a: {kind: call, function: f.e}}\nedges: [{from: text, to: a}]\noutputs: {r: a}\n",
      "");
  REQUIRE(parsed.faults.empty());
  Checked checked = check(parsed.document, {});
  REQUIRE(checked.faults.empty());
  return std::move(checked.plan);
}

/// The first lease has a worker of one executor, and later ones have one of another.
struct Site {
  FakeExecutor first;
  FakeExecutor second;
  std::atomic<int> leases{0};
  FakeGateway gateway{[this](const FakeRequest& request) { return answer(request); }};
  Client client{{.gateway = gateway.address(), .token = "secret"}};
  Plan plan = plan_of_one_call();
  std::shared_ptr<FlowInbox> inbox = std::make_shared<FlowInbox>();
  std::unique_ptr<FlowCalls> calls = calls_on_lease(client, plan, {.workers = 1}, inbox);

  FakeAnswer answer(const FakeRequest& request) {
    if (request.method == "DELETE") return {.status = 204};
    if (request.method == "POST") return {.status = 201, .body = lease(++leases)};
    if (request.method == "PATCH" && request.target.find("l-1-") != std::string::npos)
      return {.status = 404, .body = "{}"};
    if (request.method == "PATCH") return {.body = lease(0)};
    return {.body =
                R"json({"name":"f","version":"sha256:aa","entries":[{"name":"e","signature":null}],
        "targets":[{"arch":"x86_64","kind":"bitcode"}],"size":1})json"};
  }

  /// A document of the lease of that number with its worker; 0: without a new worker.
  [[nodiscard]] std::string lease(int number) const {
    const std::string name = "l-" + std::to_string(number == 0 ? leases.load() : number) + "-";
    const std::string worker =
        R"({"lease":")" + name + R"(2","secret":"s","node":"n1","boot_id":"","lane_socket":")" +
        (number == 1 ? first : second).path().string() + R"(","lane_address":""})";
    return R"({"id":")" + name +
           R"(1","cores_per_worker":1,"memory_bytes":0,"expires_in_ms":60000,"workers":[)" +
           (number == 0 ? "" : worker) + "]}";
  }

  void start(std::uint64_t number) {
    const std::byte text{7};
    calls->start({.call = {.run = 0, .number = number},
                  .node = 0,
                  .work = {.node = 0},
                  .attempt = 1,
                  .function = &plan.nodes[0].main,
                  .input = {text}},
                 plan.nodes[0]);
  }

  /// Within ten seconds. Ticks are for the driver.
  Event next() {
    const auto give_up = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < give_up)
      for (Event& event : calls->take(*inbox, 100ms).events)
        if (!std::holds_alternative<Tick>(event)) return std::move(event);
    FAIL("no event came");
    return Tick{};
  }

  void end_first_lease() {
    first.answer_calls(false);
    start(1);
    first.revoke("its job has ended");
    const Event event = next();
    REQUIRE(std::holds_alternative<CallFailed>(event));
    CHECK(std::get<CallFailed>(event).outcome == "lease_ended");
  }
};

}  // namespace

TEST_CASE("when a lease has ended, the next call is made on another one") {
  Site site;
  site.end_first_lease();
  site.start(2);
  const Event event = site.next();
  REQUIRE(std::holds_alternative<Answered>(event));
  CHECK(std::get<Answered>(event).call.number == 2);
  CHECK(site.leases == 2);
}

TEST_CASE("when a lease has ended, no other one is asked for unless there is a call for it") {
  Site site;
  site.end_first_lease();
  site.calls.reset();  // waits for who asks
  CHECK(site.leases == 1);
}

}  // namespace orchid::flow::lease_calls_tests
