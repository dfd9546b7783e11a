// Where objects are brought for the nodes that come next.
#include "flow_run/preparations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "fake_gateway.h"
#include "flow/checker.h"
#include "flow/document.h"

using namespace orchid;
using namespace orchid::flow;
using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

namespace {

DataInfo object_at(std::vector<std::string> hosts, std::uint64_t bytes) {
  DataInfo info;
  info.size = bytes;
  info.hosts = std::move(hosts);
  return info;
}

Plan plan_with(const std::string& constraints) {
  const Parsed parsed = parse_document(
      "flow: one\nfunctions: {f: \"f64(data<f64>)\"}\ninputs: {x: data<f64>}\n"
      "nodes: {a: {kind: call, function: f" +
          constraints + "}}\nedges: [{from: x, to: a}]\noutputs: {r: a}\n",
      "");
  REQUIRE(parsed.faults.empty());
  Checked checked = check(parsed.document, {});
  REQUIRE(checked.faults.empty());
  return std::move(checked.plan);
}

DataId first_object() {
  DataId id;
  id.bytes[0] = std::byte{1};
  return id;
}

/// What is asked of the gateway but looks, until something is asked whose target ends so.
std::vector<std::string> asked_for(const std::string& constraints, const std::string& last) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> orders;  // under the mutex
  const std::string id = to_string(first_object());
  FakeGateway gateway([&](const FakeRequest& request) -> FakeAnswer {
    if (request.target == "/v1/hosts")
      return {.body = R"({"hosts":[{"name":"n1","cluster":"fern","cores":8},)"
                      R"({"name":"n1~2","cluster":"moss","cores":4}]})"};
    if (request.method == "GET")
      return {.body = R"({"id":")" + id + R"(","bytes":800,"hosts":["n1"],"state":"ready"})"};
    const std::lock_guard lock(mutex);
    orders.push_back(request.target + " " + request.body);
    changed.notify_all();
    if (request.target.ends_with("/load")) return {.status = 204};
    return {.body = R"({"id":")" + id + R"(","bytes":800,"hosts":["n1"],"state":"ready"})"};
  });
  Client client({.gateway = gateway.address()});
  const Plan plan = plan_with(constraints);
  Preparations preparations(client);
  preparations.add("flow", plan, plan.nodes[0], {first_object()});
  std::unique_lock lock(mutex);
  CHECK(changed.wait_for(lock, std::chrono::seconds(30), [&] {
    return std::ranges::any_of(
        orders, [&](const std::string& one) { return one.find(last) != std::string::npos; });
  }));
  return orders;
}

}  // namespace

TEST_CASE("preparations: objects go to the host that has most of them") {
  const std::vector<DataInfo> objects{object_at({"a", "b"}, 10), object_at({"b"}, 1)};
  CHECK(host_with_most(objects) == "b");
  CHECK(host_with_most({}).empty());
}

TEST_CASE("preparations: of hosts that a node may use, or else to the one with most free cores") {
  const std::vector<DataInfo> objects{object_at({"a", "b"}, 10), object_at({"b"}, 1)};
  const HostSituation a{.name = "a", .cores_free = 1};
  const HostSituation c{.name = "c", .cores_free = 2};
  const HostSituation d{.name = "d", .cores_free = 3};
  CHECK(host_with_most(objects, {a, c, d}) == "a");
  CHECK(host_with_most(objects, {c, d}) == "d");
  CHECK(host_with_most(objects, {}).empty());
}

TEST_CASE("preparations: for a node that names a cluster an object is copied there") {
  const auto orders = asked_for(", constraints: {cluster: moss}", "n1~2");
  CHECK(orders.size() == 1);  // no worker of another cluster is asked to load its function
}

TEST_CASE("preparations: elsewhere a function is loaded, and one object stays where it is") {
  const auto orders = asked_for("", "/load");
  CHECK(orders.size() == 1);
}
