// What nodes need that come next is asked for where their calls will run.
#include "flow_run/preparations.h"

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "fake_gateway.h"
#include "flow/checker.h"

namespace orchid::flow {
namespace {

using namespace std::chrono_literals;
using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

const std::string both = "a: data<f64>, b: data<f64>";

Plan plan_of_nodes(const std::string& inputs, const std::string& nodes, const std::string& edges) {
  const Parsed parsed = parse_document(
      "flow: f\nfunctions: {make: \"u64(data<f64>,data<f64>)\", half: \"data<f64>(data<f64>)\", "
      "cut: \"span<u64>(data<f64>)\", each: "
      "\"u64(u64,data<f64>)\"}\n"
      "inputs: {" +
          inputs + "}\nnodes:\n" + nodes + "edges: [" + edges + "]\noutputs: {r: n}\n",
      "");
  REQUIRE(parsed.faults.empty());
  Checked checked = check(parsed.document, {});
  REQUIRE_MESSAGE(checked.faults.empty(), checked.faults.front().message);
  return std::move(checked.plan);
}

DataId object(unsigned char number) {
  DataId id;
  id.bytes[0] = std::byte{number};
  return id;
}

/// Remembers what it is asked, and lets a test wait for so much.
class Asked {
 public:
  FakeAnswer operator()(const FakeRequest& request) {
    const std::lock_guard lock(mutex_);
    all_.push_back(request);
    changed_.notify_all();
    return {.status = 204};
  }
  std::vector<FakeRequest> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, 20s, [&] { return all_.size() >= count; }));
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<FakeRequest> all_;
};

}  // namespace

TEST_CASE("what is asked for ahead has the constraints of the node") {
  const Plan plan = plan_of_nodes(
      both,
      "  n: {kind: call, function: make, takes: [x, y], constraints: {kind: dpu, device: cores, "
      "cluster: north}}\n",
      "{from: a, to: n.x}, {from: b, to: n.y}");
  const auto calls = calls_ahead(plan, plan.nodes[0], {object(1), object(2)});
  REQUIRE(calls.size() == 1);
  CHECK(calls[0] == CallsAhead{.function = "make",
                               .host_kind = "dpu",
                               .device = "cores",
                               .cluster = "north",
                               .data = {object(1), object(2)}});
}

TEST_CASE("each function is given what it takes of a node's data") {
  const Plan plan = plan_of_nodes(
      both, "  n: {kind: map, takes: [x, y], partition: {function: cut, takes: [y]}, each: each}\n",
      "{from: a, to: n.x}, {from: b, to: n.y}");
  const auto calls = calls_ahead(plan, plan.nodes[0], {object(1), object(2)});
  REQUIRE(calls.size() == 2);
  CHECK(calls[0] == CallsAhead{.function = "cut", .data = {object(2)}});
  CHECK(calls[1] == CallsAhead{.function = "each", .data = {object(1)}});
  // While some are missing nobody knows which are there.
  CHECK(calls_ahead(plan, plan.nodes[0], {object(7)})[0].data == std::vector{object(7)});
}

TEST_CASE("the first state of an iteration counts as its data") {
  const Plan plan = plan_of_nodes(
      "a: data<f64>", "  n: {kind: iterate, function: half, times: 3}\n", "{from: a, to: n}");
  const auto calls = calls_ahead(plan, plan.nodes[0], {object(1)});
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].data == std::vector{object(1)});
}

TEST_CASE("the gateway decides where data comes together, and is asked once of the same calls") {
  Asked asked;
  FakeGateway gateway([&](const FakeRequest& request) { return asked(request); });
  Client client({.gateway = gateway.address()});
  Preparations preparations(client);
  const CallsAhead first{
      .function = "f@0123456789ab", .host_kind = "gpu", .data = {object(1), object(2)}};
  preparations.add("one", {first});
  preparations.add("two", {first});
  preparations.add("two", {{.function = "f@0123456789ab", .device = "gpu", .cluster = "north"}});
  const auto requests = asked.wait_for(2);
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].method == "POST");
  CHECK(requests[0].target == "/v1/functions/f@0123456789ab/load");
  CHECK(requests[0].header("orchid-host-kind") == "gpu");
  CHECK(requests[0].header("orchid-data") == to_string(object(1)) + ", " + to_string(object(2)));
  CHECK(requests[0].header("orchid-device").empty());
  CHECK(requests[1].header("orchid-device") == "gpu");
  CHECK(requests[1].header("orchid-cluster") == "north");
  CHECK(requests[1].header("orchid-data").empty());
}

}  // namespace orchid::flow
