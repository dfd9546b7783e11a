// A program that runs flows by itself, through a gateway whose functions are here.
#include "orchid/run_flow.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "fake_gateway.h"

namespace orchid {
namespace {

using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

std::uint64_t number_in(std::string_view bytes) {
  std::uint64_t number = 0;
  REQUIRE(bytes.size() == sizeof number);
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

std::string bytes_of(std::uint64_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

/// math.twice, and math.five, which fails for 5 as long as it is told to.
struct Functions {
  std::atomic<bool> fails{false};
  std::atomic<int> calls{0};
  FakeGateway gateway{[this](const FakeRequest& request) { return answer(request); }};
  Client client{{.gateway = gateway.address()}};

  FakeAnswer answer(const FakeRequest& request) {
    if (request.method == "GET")
      return {.body = R"json({"name":"math","version":"sha256:aa","entries":[
        {"name":"twice","signature":"u64(u64)"},{"name":"five","signature":"u64(u64)"}],
        "targets":[{"arch":"x86_64","kind":"bitcode"}],"size":1})json"};
    if (request.target.starts_with("/v1/leases"))
      return {.status = 400, .body = R"({"detail":"there are no workers"})"};
    ++calls;
    const std::uint64_t number = number_in(request.body);
    const bool is_five = request.target.find("five") != std::string::npos;
    if (is_five && number == 5 && fails)
      return {.status = 502, .body = R"({"detail":"five is too many","outcome":"function_error"})"};
    return {.body = bytes_of(is_five ? number : 2 * number)};
  }
};

Flow twice_all(const char* function) {
  Flow flow("numbers");
  const auto numbers = flow.input<std::vector<std::uint64_t>>("numbers");
  const auto all = flow.map("all", {.each = {function}, .takes = {"list"}});
  flow.connect(numbers, all.port("list"));
  flow.output("result", all);
  return flow;
}

using Numbers = std::vector<std::uint64_t>;

FlowRunOptions by_gateway() { return {.workers = 2, .by_gateway = true}; }

template <typename Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return Error(Error::Details{});
}

}  // namespace

TEST_CASE("a flow that a program has built runs, and gives typed outputs") {
  Functions functions;
  std::vector<std::string> changes;
  FlowRunOptions options = by_gateway();
  options.node_changed = [&](const FlowNodeStatus& node) {
    changes.push_back(node.name + " " + std::string(to_string(node.state)));
  };
  const FlowResult result = run_flow(functions.client, twice_all("math.twice"),
                                     FlowInputs().set("numbers", Numbers{1, 2, 3}), options);
  REQUIRE(result.outcome() == FlowOutcome::done);
  CHECK(result.get<Numbers>("result") == Numbers{2, 4, 6});
  CHECK(result.json("result") == "[2,4,6]");
  CHECK(result.state().empty());
  CHECK(changes == std::vector<std::string>{"all running", "all done"});
  CHECK(error_of([&] { (void)result.get<double>("result"); }).kind() ==
        ErrorKind::signature_mismatch);
  CHECK(error_of([&] { (void)result.json("none"); }).kind() == ErrorKind::not_found);
}

TEST_CASE("optimisers are told of hosts as they are before the flow has workers") {
  Functions functions;
  Flow flow = twice_all("math.twice");
  flow.optimise("power", R"({"watts": 40})");
  const Error error = error_of(
      [&] { (void)run_flow(functions.client, flow, FlowInputs().set("numbers", Numbers{1}), {}); });
  CHECK_MESSAGE(error.message().find("there are no workers") != std::string::npos, error.what());
  std::vector<std::string> asked;
  for (const FakeRequest& request : functions.gateway.requests())
    if (request.target == "/v1/hosts" || request.target.starts_with("/v1/leases"))
      asked.push_back(request.method + " " + request.target.substr(0, request.target.find('?')));
  REQUIRE(asked.size() >= 2);
  CHECK(asked[0] == "GET /v1/hosts");
  CHECK(asked[1] == "POST /v1/leases");
}

TEST_CASE("inputs may be texts, and are compared with the flow's types") {
  Functions functions;
  const Flow flow = twice_all("math.twice");
  const FlowResult result =
      run_flow(functions.client, flow, FlowInputs().set_text("numbers", "[4]"), by_gateway());
  CHECK(result.get<Numbers>("result") == Numbers{8});
  const auto refused = [&](const FlowInputs& inputs) {
    const Error error =
        error_of([&] { (void)run_flow(functions.client, flow, inputs, by_gateway()); });
    CHECK(error.kind() == ErrorKind::bad_request);
    return error.message();
  };
  CHECK(refused({}) == "flow 'numbers' needs a value of its input 'numbers' (span<u64>)");
  CHECK(refused(FlowInputs().set("numbers", 1.5)) ==
        "input 'numbers' is span<u64>, and f64 was given");
  CHECK(refused(FlowInputs().set_text("numbers", "[4]").set("more", 1)) ==
        "flow 'numbers' has no input 'more'");
  CHECK(refused(FlowInputs().set_text("numbers", "four")).find("input 'numbers': ") == 0);
}

TEST_CASE("all that is wrong with a document is told before anything runs") {
  Functions functions;
  const Error error = error_of([&] {
    (void)run_flow(functions.client, "flow: f\nnodes: {a: {kind: call, function: math.thrice}}\n",
                   {}, by_gateway());
  });
  CHECK(error.kind() == ErrorKind::bad_request);
  CHECK(error.message().find("flow:2:") == 0);
  CHECK(error.message().find("math.twice, math.five") != std::string::npos);
  CHECK(functions.calls == 0);
}

TEST_CASE("a flow that failed says why, and goes on from its state") {
  Functions functions;
  functions.fails = true;
  std::vector<FlowFailure> failures;
  std::string kept;
  FlowRunOptions options = by_gateway();
  options.calls_at_once = 1;
  options.attempt_failed = [&](const FlowFailure& failure) { failures.push_back(failure); };
  options.keep = [&](const std::string& state) { kept = state; };
  const Flow flow = twice_all("math.five");
  const FlowResult failed =
      run_flow(functions.client, flow, FlowInputs().set("numbers", Numbers{3, 4, 5, 6}), options);
  REQUIRE(failed.outcome() == FlowOutcome::failed);
  CHECK(failed.failure()->part == "piece 3 of 4");
  CHECK(failed.failure()->outcome == "function_error");
  CHECK(failures.size() == 1);
  CHECK(kept == failed.state());
  CHECK(error_of([&] { (void)failed.get<Numbers>("result"); })
            .message()
            .find("node 'all', piece 3 of 4: function_error") != std::string::npos);
  functions.fails = false;
  const int before = functions.calls;
  options.state = kept;
  const FlowResult done = run_flow(functions.client, flow, {}, options);
  CHECK(done.get<Numbers>("result") == Numbers{3, 4, 5, 6});
  CHECK(functions.calls - before == 2);  // the first two are not called again
}

TEST_CASE("a flow is cancelled by its token, and by who watches it") {
  Functions functions;
  std::stop_source source;
  FlowRunOptions options = by_gateway();
  options.stop = source.get_token();
  options.node_changed = [&](const FlowNodeStatus&) { source.request_stop(); };
  const FlowResult result = run_flow(functions.client, twice_all("math.twice"),
                                     FlowInputs().set("numbers", Numbers(1000, 1)), options);
  CHECK(result.outcome() == FlowOutcome::cancelled);
  CHECK_FALSE(result.state().empty());
  CHECK(error_of([&] { (void)result.json("result"); }).kind() == ErrorKind::cancelled);
}

TEST_CASE("what a callback throws is passed on, and nothing goes on behind it") {
  Functions functions;
  FlowRunOptions options = by_gateway();
  options.node_changed = [](const FlowNodeStatus&) { throw std::runtime_error("enough"); };
  CHECK_THROWS_WITH((void)run_flow(functions.client, twice_all("math.twice"),
                                   FlowInputs().set("numbers", Numbers{1, 2}), options),
                    "enough");
}

}  // namespace orchid
